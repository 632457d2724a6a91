import path from 'node:path';
import { Command } from 'commander';
import type { RunHandle } from '../../client/run-handle';
import { isClosed } from '../../client/run-report';
import type { Environment } from '../../config/environment';
import { readEnvironment, variableNames } from '../../config/environment';
import { openForWork } from '../connect';
import type { Session } from '../connect';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import { openOutput } from '../output';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { addPlaces, parseCount } from '../service-options';
import { formatNumber } from '../number-format';
import { watchRun } from '../watch';
import { createCrash } from './demo-crash';
import { cancelLeftovers, cancelRun } from './demo-leftovers';
import { startReinforcement, startSupervised } from './demo-start';
import { judgeDemo, WANTED_ACCURACY } from './demo-verdict';
import { statusDocument } from './runs-documents';
import { printEnd } from './train-follow';

interface DemoFlags extends PlaceFlags {
  readonly crash: boolean;
  readonly steps?: number;
  readonly rl?: boolean;
  readonly json?: boolean;
}

const IGNORED = ['TEMPORAL_', 'TINKER_', 'EVERSTEP_ENGINE'];

export function createCommand(): Command {
  const command = new Command('demo')
    .description('Train a small model to add, kill its worker half-way, and see that nothing is lost')
    .option('--rl', 'teach it by rewards instead of examples')
    .option('--no-crash', 'leave the worker alone')
    .option('--steps <n>', 'train for n steps', parseCount)
    .option('--json', 'one JSON document on standard output')
    .action(async (flags: DemoFlags) => {
      process.exitCode = await run(flags);
    });
  return addPlaces(command, { store: true });
}

async function run(flags: DemoFlags): Promise<number> {
  const startedAt = performance.now();
  const output = openOutput(flags);
  const interrupts = catchInterrupts(output);
  const environment = demoEnvironment(flags);
  announceIgnored(output);
  const session = await openForWork({
    flags,
    output,
    signal: interrupts.signal,
    detach: false,
    purpose: 'demo',
    environment,
    onlyStack: true,
  });
  try {
    await cancelLeftovers(session);
    if (interrupts.signal.aborted) return EXIT.interrupted;
    const handle = await start(session, flags, { output, signal: interrupts.signal });
    if (handle === null) return EXIT.interrupted;
    output.line(
      `Run ${handle.name}: teaches ${MODEL} to add two-digit numbers, and tests it on pairs it never sees.`,
    );
    return await follow(handle, { session, output, flags, signal: interrupts.signal, startedAt });
  } finally {
    await session.close();
    interrupts.dispose();
  }
}

const MODEL = 'everstep/tiny';

/** Its own stack, in a folder of its own; its runs are where all runs are. */
function demoEnvironment(flags: PlaceFlags): Environment {
  const { dataFolder, store } = readEnvironment(flags);
  return readEnvironment({ dataDir: path.join(dataFolder, 'demo'), store });
}

function announceIgnored(output: Output): void {
  const names = IGNORED.flatMap((prefix) => variableNames(prefix));
  if (names.length === 0) return;
  output.note(`The demo uses a stack of its own and ignores ${names.join(', ')}.`);
}

function start(
  session: Session,
  { rl, steps }: DemoFlags,
  watching: { readonly output: Output; readonly signal: AbortSignal },
): Promise<RunHandle | null> {
  const begin = rl ? startReinforcement : startSupervised;
  return begin({ session, ...watching, ...(steps !== undefined && { steps }) });
}

/** The demo's own stack starts the worker that it kills again: nobody else is to start one. */
const RESTART_LIMIT_MS = 90_000;

interface Following {
  readonly session: Session;
  readonly output: Output;
  readonly flags: DemoFlags;
  readonly signal: AbortSignal;
  readonly startedAt: number;
}

async function follow(handle: RunHandle, following: Following): Promise<number> {
  const { session, output, flags, signal, startedAt } = following;
  const crash = flags.crash ? createCrash(session.environment.dataFolder, output) : null;
  const report = await watchRun(handle, {
    output,
    signal,
    onReport: (seen) => crash?.(seen),
    noteAfterMs: RESTART_LIMIT_MS,
  });
  const scores = await handle.scores();
  output.document(statusDocument(report, scores));
  if (!isClosed(report)) {
    await cancelRun(handle);
    output.note(`Interrupted: run ${handle.name} is cancelled and its stack stops.`);
    return EXIT.interrupted;
  }
  printEnd(report, scores, output);
  const wanted = flags.rl ? WANTED_ACCURACY.rl : WANTED_ACCURACY.sft;
  const verdict = judgeDemo(report, scores, { isShortened: flags.steps !== undefined, wanted });
  output.line(verdict.text);
  const seconds = (performance.now() - startedAt) / 1000;
  const more = output.hint(`runs show ${handle.name}`);
  output.line(`${formatNumber(Math.round(seconds))} s in all. More of it: ${more}`);
  return verdict.isGood ? EXIT.done : EXIT.failed;
}
