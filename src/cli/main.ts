import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Command, CommanderError } from 'commander';
import { z } from 'zod';
import { readEnvironment } from '../config/environment';
import { COMMANDS, loadCommand } from './command-list';
import { EXIT, exitCodeOf } from './exit-codes';
import { explainError } from './explain-error';
import { asCalled } from '../config/how-called';

const OURS_ALONE = 0o077;
const OTHERS_WRITE = 0o022;

/**
 * Runs the command line program. A command that succeeds ends by itself; one that fails ends the process,
 * because what it had open may keep the event loop alive.
 */
export async function main(argv: readonly string[]): Promise<void> {
  // What this program and those it starts write is theirs alone to change, also where an image sets no mask.
  process.umask(process.umask(OURS_ALONE) | OTHERS_WRITE);
  try {
    await createProgram(argv[2]).parseAsync([...argv]);
  } catch (error) {
    process.exit(report(error));
  }
}

/** The program with its list of commands; only the file of the command in use is loaded, and all of them by the one that lists them. */
export function createProgram(used: string | undefined): Command {
  const program = new Command('everstep')
    .description('Durable LLM post-training and evaluation on Temporal')
    .version(readVersion())
    // What follows the name of a command is for that command, here and in `dev stop`.
    .enablePositionalOptions()
    .showHelpAfterError('(everstep --help lists the commands)')
    .exitOverride();
  for (const entry of COMMANDS) {
    const isLoaded = [entry.name, 'completion'].includes(used ?? '');
    const command = isLoaded ? loadCommand(entry) : new Command(entry.name);
    program.addCommand(command.summary(entry.summary).exitOverride());
  }
  program.on('command:help', () => program.help());
  return program;
}

function report(error: unknown): number {
  if (error instanceof CommanderError) {
    // Commander has printed it. Help and version are not failures.
    return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  process.stderr.write(`everstep: ${asCalled(explainError(error, { isDebugging: isDebugging() }))}\n`);
  return exitCodeOf(error);
}

function isDebugging(): boolean {
  try {
    return ['trace', 'debug'].includes(readEnvironment().logLevel);
  } catch {
    return false;
  }
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(path.resolve(__dirname, '../../package.json'), 'utf8'));
  return z.object({ version: z.string() }).parse(manifest).version;
}
