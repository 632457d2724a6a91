import { basename, join } from 'node:path';
import type { WaitingBenchmark } from '../client/eval-waiting';
import { readEnvironment } from '../config/environment';
import { hasErrorCode } from '../core/error-code';
import type { EvaluationCell } from '../core/run';
import { asSentence } from '../core/sentences';
import type { EvalRunMetadata } from '../stores/eval-run-store';
import { benchmarkFolder, streamTrajectories } from '../stores/eval-store';
import type { EvaluatedStep } from '../stores/evaluated-step';
import { evaluatedStepIn } from '../stores/evaluated-step';
import { readJsonIfThere } from '../stores/whole-file';
import { openForReading } from './connect';
import type { PlaceFlags } from './service-options';

interface FailedBenchmark {
  readonly benchmark: string;
  readonly reason: string;
}

/** What is known of benchmarks without a result. */
export interface Unfinished {
  readonly unfinished: readonly string[];
  /** Under way, and waiting. */
  readonly waiting: readonly WaitingBenchmark[];
  readonly failed: readonly FailedBenchmark[];
}

/** Asks the server, where there is one, and else the store, how it is with benchmarks that have no result. */
export async function explainUnfinished(
  folder: string,
  unfinished: readonly string[],
  flags: PlaceFlags,
): Promise<Unfinished> {
  if (unfinished.length === 0) return { unfinished, waiting: [], failed: [] };
  const step = evaluatedStepIn(readEnvironment(flags).store, folder);
  if (step) return explainCells(step, unfinished, flags);
  const metadata = await readJsonIfThere<Partial<EvalRunMetadata>>(join(folder, 'metadata.json'));
  const run = metadata?.run_id ?? basename(folder);
  const session = await openForReading(flags);
  try {
    const { evaluations } = session.everstep;
    const underWay = await evaluations.waiting(run);
    const open = new Set(underWay.map(({ benchmark }) => benchmark));
    const idle = unfinished.filter((name) => !open.has(name));
    const failures = await evaluations.failures(run, idle);
    const told = failures.map(({ name, message }) => ({ benchmark: name, reason: message }));
    const rest = idle.filter((name) => !told.some(({ benchmark }) => benchmark === name));
    return {
      unfinished,
      waiting: underWay.filter(({ reason }) => reason !== null),
      failed: [...told, ...rest.flatMap((name) => failureInStore(folder, name))],
    };
  } finally {
    await session.close();
  }
}

/** The same of evaluators of a training run at one step. */
async function explainCells(
  { run, step }: EvaluatedStep,
  unfinished: readonly string[],
  flags: PlaceFlags,
): Promise<Unfinished> {
  const session = await openForReading(flags);
  try {
    const cells = await session.everstep.run(run).evaluations();
    const known = cells.filter((cell) => cell.step === step && unfinished.includes(cell.evaluator));
    const isOpen = ({ status }: EvaluationCell) => OPEN.has(status);
    return {
      unfinished,
      waiting: known.filter(isOpen).map(({ evaluator, status }) => ({
        benchmark: evaluator,
        reason: `its evaluation is ${status}; \`everstep runs evaluations ${run}\` lists it`,
      })),
      failed: known
        .filter((cell) => !isOpen(cell) && cell.status !== 'done')
        .map(({ evaluator, status, error }) => ({
          benchmark: evaluator,
          reason: error ?? `it was ${status}`,
        })),
    };
  } finally {
    await session.close();
  }
}

const OPEN: ReadonlySet<EvaluationCell['status']> = new Set(['pending', 'running', 'due']);

export function unfinishedText({ unfinished, waiting, failed }: Unfinished): string {
  const others = unfinished.filter((name) => !failed.some(({ benchmark }) => benchmark === name));
  return [
    ...failed.map(failedText),
    ...(others.length > 0 ? [`Not finished: ${others.join(', ')}.`] : []),
    ...waiting.map(waitingText),
  ].join(' ');
}

/** A sentence for each benchmark of which it is known why it has no result. */
export function reasonsOf({ waiting, failed }: Unfinished): ReadonlyMap<string, string> {
  return new Map([
    ...failed.map((each) => [each.benchmark, failedText(each)] as const),
    ...waiting.map((each) => [each.benchmark, waitingText(each)] as const),
  ]);
}

function failedText({ benchmark, reason }: FailedBenchmark): string {
  return `${benchmark} failed: ${asSentence(reason)}`;
}

function waitingText({ benchmark, reason }: WaitingBenchmark): string {
  return `${benchmark} waits: ${asSentence(reason ?? '')}`;
}

/** Trajectories without a result are left where every example failed. */
function failureInStore(folder: string, benchmark: string): FailedBenchmark[] {
  let count = 0;
  let first: string | null = null;
  try {
    for (const { error } of streamTrajectories(benchmarkFolder(folder, benchmark))) {
      if (error === null) return [];
      first ??= error;
      count += 1;
    }
  } catch (error) {
    if (!hasErrorCode(error, 'ENOENT')) throw error;
  }
  return first === null
    ? []
    : [{ benchmark, reason: `all ${count} examples failed, the first with: ${first}` }];
}
