import { Command } from 'commander';
import type { BackfillHandle } from '../../client/backfill-handle';
import { addresseesOf } from '../../client/check-endpoint';
import type { Everstep } from '../../client/everstep';
import type { BackfillOptions } from '../../client/backfill-request';
import { DomainError } from '../../core/errors';
import { shellWord } from '../../core/shell-word';
import type { MatrixCell } from '../../core/backfill';
import type { Session } from '../connect';
import { openForReading, openForWork } from '../connect';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import type { Output } from '../output';
import { openOutput } from '../output';
import { addPlaces, parseCount } from '../service-options';
import { followBackfill } from './backfill-follow';
import { printMatrix } from './backfill-report';
import { refuseUselessAddresses } from './eval-endpoint';
import { findHome } from './eval-home';
import type { EvalFlags } from './eval-options';
import { refuseUselessFiles } from './eval-files';
import { addAskingOptions, canonicalName, optionsFrom } from './eval-options';
import { refuseUnjudged } from './judge-options';

interface BackfillFlags extends EvalFlags {
  readonly runs: string;
  readonly benchmarks: string;
  readonly steps?: string;
  readonly parallel?: number;
  readonly name?: string;
  readonly dryRun?: boolean;
}

export function createCommand(): Command {
  const command = new Command('backfill')
    .description('Score checkpoints of runs on benchmarks; only cells that are missing run')
    .requiredOption('--runs <names>', 'runs by name or pattern, e.g. base,"sft-*"')
    .requiredOption('--benchmarks <names>', 'e.g. gsm8k,arithmetic,inspect:PACKAGE/TASK')
    .option('--steps <steps>', 'all, last, every:N, or steps such as 100,200 (all kept checkpoints)')
    .option('--parallel <n>', 'cells under way at a time (2)', parseCount)
    .option('--name <name>', 'name of the backfill (the benchmarks, and a digest of what is asked)')
    .option('--dry-run', 'show what is there and what is missing, and run nothing')
    .option('--engine <url>', 'training service, or "tinker", in place of the runs\'')
    .option('--renderer <name>', "how conversations become tokens (the runs')");
  addAskingOptions(command);
  command.option('--json', 'one JSON document on standard output').action(async (flags: BackfillFlags) => {
    process.exitCode = await run(flags);
  });
  return addPlaces(command, { store: true });
}

async function run(flags: BackfillFlags): Promise<number> {
  const output = openOutput(flags);
  const options = backfillOptions(flags);
  const isAnswered = await answerFromStore(options, flags, output);
  if (isAnswered) return EXIT.done;
  const isBegun = () => isBackfillBegun(options, flags);
  await refuseUselessFiles(options, flags);
  await refuseUselessAddresses({ addressees: addresseesOf(options), flags, isBegun }, output);

  const interrupts = catchInterrupts(output);
  const { signal } = interrupts;
  try {
    const purpose = `backfill ${flags.runs} × ${flags.benchmarks}`;
    const places = async (everstep: Everstep) => (await everstep.prepareBackfill(options)).findWeights();
    const home = await findHome(places, flags, output);
    const session = await openForWork({ flags, output, signal, detach: false, purpose, ...home });
    try {
      if (signal.aborted) return EXIT.interrupted;
      const handle = await session.everstep.prepareBackfill(options);
      return await followBackfill(handle, { session, output, signal });
    } finally {
      await session.close();
    }
  } finally {
    interrupts.dispose();
  }
}

function backfillOptions(flags: BackfillFlags): BackfillOptions {
  const { runs, benchmarks, steps, parallel, name } = flags;
  const asking = optionsFrom(flags);
  if (asking.checkpoint !== undefined || asking.endpoint !== undefined) {
    throw new DomainError(
      'bad-config',
      'A backfill asks checkpoints of runs: name them with --runs and --steps.',
    );
  }
  const names = [...new Set(benchmarksOf(benchmarks).map(columnName(flags)))];
  refuseUnjudged(names, asking);
  return {
    ...asking,
    runs: wordsOf(runs),
    benchmarks: names,
    steps,
    parallel,
    name,
  };
}

/** The evaluators of the runs, such as those that a model judges, are no benchmarks. */
function columnName(flags: BackfillFlags): (name: string) => string {
  const nameOf = canonicalName(flags);
  return (name) => {
    try {
      return nameOf(name);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'unknown-benchmark') throw error;
      const remedy = `An evaluator of a run scores a checkpoint with: everstep eval --evaluator ${shellWord(name)} --checkpoint RUN@STEP`;
      throw new DomainError(error.code, `${error.message} ${remedy}`);
    }
  };
}

/** A stack would be started only to find that there is nothing to do. */
async function answerFromStore(
  options: BackfillOptions,
  flags: BackfillFlags,
  output: Output,
): Promise<boolean> {
  const session = await openForReading(flags);
  try {
    if (session.hasServer && !flags.dryRun) return false;
    const handle = await session.everstep.prepareBackfill(options);
    const cells = await lookUp(handle, session, flags);
    if (!cells || (!flags.dryRun && cells.some(({ status }) => status !== 'present'))) return false;
    printMatrix({ name: handle.name, cells }, output);
    return true;
  } finally {
    await session.close();
  }
}

async function isBackfillBegun(options: BackfillOptions, flags: BackfillFlags): Promise<boolean> {
  const session = await openForReading(flags);
  try {
    const handle = await session.everstep.prepareBackfill(options);
    return (await handle.state()) !== null;
  } finally {
    await session.close();
  }
}

/** What cannot be read here a worker may be able to read. */
async function lookUp(
  handle: BackfillHandle,
  { environment }: Session,
  { dryRun }: BackfillFlags,
): Promise<MatrixCell[] | null> {
  try {
    return await handle.lookUp(environment);
  } catch (error) {
    if (dryRun) throw error;
    return null;
  }
}

function wordsOf(text: string): string[] {
  return trimmed(text.split(','));
}

/** Arguments of a task of Inspect AI may be lists and mappings, whose commas separate no benchmarks. */
function benchmarksOf(text: string): string[] {
  return trimmed(text.match(/(?:[^,[{]|\[[^\]]*\]|\{[^}]*\}|[[{])+/g) ?? []);
}

function trimmed(words: readonly string[]): string[] {
  return words.map((word) => word.trim()).filter((word) => word !== '');
}
