import { CommanderError } from 'commander';
import { COMMANDS, loadCommand } from '../../../src/cli/command-list';
import { createProgram } from '../../../src/cli/main';

function silence(): { text(): string; restore(): void } {
  let text = '';
  const write = (chunk: string | Uint8Array): boolean => {
    text += String(chunk);
    return true;
  };
  const spies = [
    jest.spyOn(process.stdout, 'write').mockImplementation(write),
    jest.spyOn(process.stderr, 'write').mockImplementation(write),
  ];
  return {
    text: () => text,
    restore: () => {
      for (const spy of spies) spy.mockRestore();
    },
  };
}

async function parse(...args: string[]): Promise<{ error: unknown; text: string }> {
  const output = silence();
  try {
    await createProgram(args[0]).parseAsync(['node', 'everstep', ...args]);
    return { error: null, text: output.text() };
  } catch (error) {
    return { error, text: output.text() };
  } finally {
    output.restore();
  }
}

test('lists every command with its summary', async () => {
  const { text: wrapped } = await parse('--help');
  const text = wrapped.replaceAll(/\s+/g, ' ');

  for (const { name, summary } of COMMANDS) {
    expect(text).toContain(name);
    expect(text).toContain(summary);
  }
});

test.each(COMMANDS.filter(({ name }) => ['dev', 'temporal', 'engine', 'doctor'].includes(name)))(
  'the file of $name makes the command of that name',
  (entry) => {
    expect(loadCommand(entry).name()).toBe(entry.name);
  },
);

test.each([
  ['a command that does not exist', ['cook'], /unknown command 'cook'/],
  ['a port that is none', ['temporal', '--port', '99999'], /A port is a number from 1 to 65535/],
  ['a missing port', ['engine'], /required option '--port <port>' not specified/],
  ['an option that does not exist', ['dev', '--fast'], /unknown option '--fast'/],
  ['what `dev stop` does not know', ['dev', 'stop', '--ui'], /unknown option '--ui'/],
  ['a word that `dev` does not know', ['dev', 'end'], /too many arguments/],
  ['no workers', ['dev', '--workers', '0'], /whole number, 1 or more/],
])('refuses %s before anything is started', async (_what, args, complaint) => {
  const { error, text } = await parse(...args);

  expect(error).toBeInstanceOf(CommanderError);
  expect(text).toMatch(complaint);
});

test('hides options that are not for people', async () => {
  const { text } = await parse('dev', '--help');

  expect(text).toContain('--data-dir');
  expect(text).not.toMatch(/--exit-with-parent|--until-idle/);
});

test.each(COMMANDS)('$name says what it is for when asked alone', async ({ name }) => {
  const { text } = await parse(name, '--help');

  expect(text).toMatch(/^Usage: .+\n\n[A-Z].{20}/);
  expect(text).not.toMatch(/default: [[{]/);
});
