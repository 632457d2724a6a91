import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createCommand } from '../../../src/cli/commands/benchmarks';
import { canonicalName } from '../../../src/cli/commands/eval-options';
import { BENCHMARKS } from '../../../src/evaluation/benchmarks';

const EXAMPLE = resolve(__dirname, '../../../examples/custom-benchmark/everstep.config.ts');

let folder: string;
let printed: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-benchmarks-'));
  printed = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});

afterEach(() => {
  jest.restoreAllMocks();
  delete process.env['EVERSTEP_DATA_DIR'];
  rmSync(folder, { recursive: true });
});

async function run(...args: string[]): Promise<void> {
  await createCommand().exitOverride().parseAsync(args, { from: 'user' });
}

test('lists the catalogue and what a plug-in file brings', async () => {
  await run('list', '--json', '--plugins', EXAMPLE);

  const { benchmarks } = JSON.parse(printed) as { benchmarks: { name: string; turns: string }[] };
  expect(benchmarks.map(({ name }) => name)).toEqual([
    ...BENCHMARKS.map(({ name }) => name),
    'capitals',
    'guess_number',
  ]);
  expect(benchmarks.find(({ name }) => name === 'guess_number')?.turns).toBe('several');
});

test('lists for people without --json', async () => {
  await run('list');

  for (const { name } of BENCHMARKS) expect(printed).toContain(name);
});

test('says one number of what is made by code: that which is there', async () => {
  await run('show', 'arithmetic', '--examples', '1');

  const [, count = ''] = /^examples +(\d+), made by code$/m.exec(printed) ?? [];
  expect(printed).toContain(`; ${count} examples, last number`);
});

test('shows examples as they are asked, of the data put there by hand', async () => {
  process.env['EVERSTEP_DATA_DIR'] = folder;
  mkdirSync(join(folder, 'gsm8k'));
  const rows = [1, 2, 3].map((n) => JSON.stringify({ question: `What is ${n}?`, answer: `#### ${n}` }));
  writeFileSync(join(folder, 'gsm8k/data.jsonl'), rows.join('\n'));

  await run('show', 'gsm8k', '--json', '--examples', '2');

  expect(JSON.parse(printed)).toMatchObject({
    name: 'gsm8k',
    data: { hub: 'openai/gsm8k', split: 'test' },
    exampleCount: 3,
    examples: [{ id: expect.stringMatching(/^gsm8k_[0-9a-f]{12}$/) as string }, {}],
  });
});

test('a question cannot steer the terminal', async () => {
  process.env['EVERSTEP_DATA_DIR'] = folder;
  mkdirSync(join(folder, 'gsm8k'));
  const row = { question: 'Clear \u001b[2J it', answer: '#### 1' };
  writeFileSync(join(folder, 'gsm8k/data.jsonl'), JSON.stringify(row));

  await run('show', 'gsm8k', '--examples', '1');

  expect(printed).toContain('Clear');
  expect(printed).not.toContain('\u001b[2J');
});

test('an unknown name is refused with the known ones', async () => {
  await expect(run('show', 'nope')).rejects.toThrow(
    /Unknown benchmark "nope"\. Nearest: .*\. Known: arithmetic/,
  );
});

test('says of each group how it is run, and lists nothing that `eval` does not know', async () => {
  await run('list');
  const listed = printed;
  printed = '';
  await run('list', '--json');

  const { benchmarks, tasks } = JSON.parse(printed) as Record<string, { name: string }[]>;
  const names = [...(benchmarks ?? []), ...(tasks ?? [])].map(({ name }) => name);
  const nameOf = canonicalName({});

  expect(names.map(nameOf)).toEqual(names);
  expect(listed).toContain('One answer, graded');
  expect(listed).toContain('Several turns with an environment');
  expect(listed).toContain('Tasks of the further kinds');
  expect(listed).toContain('eval NAME --checkpoint RUN[@STEP] | --engine URL --model M');
  for (const name of names) expect(listed).toContain(name);
});

test.each(['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf'])(
  '%s, which every object has, is an unknown name like others',
  async (name) => {
    await expect(run('show', '--', name)).rejects.toMatchObject({
      code: 'unknown-benchmark',
      message: expect.stringContaining(`Unknown benchmark "${name}"`) as string,
    });
  },
);
