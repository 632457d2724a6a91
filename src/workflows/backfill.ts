import {
  CancellationScope,
  condition,
  continueAsNew,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { BackfillActivities } from '../activities/backfill-activities';
import type { BackfillCell, BackfillState } from '../core/backfill';
import { benchmarkRequestOf, scoredCell } from '../core/backfill';
import type { ColumnPart } from '../core/backfill-matrix';
import { BackfillMatrix } from '../core/backfill-matrix';
import type { BenchmarkRequest, BenchmarkSummary } from '../core/benchmark-run';
import { Slots } from '../core/concurrency/slots';
import { TASK_QUEUES } from '../core/task-queues';
import type { BackfillInput } from './backfill-contracts';
import { backfillQuery } from './backfill-contracts';
import { reasonOf, scoreBenchmark } from './score-benchmark';

const RETRY = { initialInterval: '500 ms', backoffCoefficient: 2, maximumInterval: '20 seconds' } as const;

/** Data may have to come from the hub. */
const { findCells, recordBackfill } = proxyActivities<BackfillActivities>({
  taskQueue: TASK_QUEUES.sampling,
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: '15 seconds',
  retry: RETRY,
});

type Score = (request: BenchmarkRequest) => Promise<BenchmarkSummary>;

const MAX_EVENTS = 2000;
const CELLS_A_LOOKUP = 50;
/** Columns that are looked up at once: each reads the data of its benchmark. */
const LOOKUPS_AT_ONCE = 2;

/**
 * Score every checkpoint on every benchmark, but for what is scored already.
 *
 * Cells are benchmarks by themselves, which go on whatever becomes of this workflow. One that fails is reported and ends
 * nothing; running it again runs what is missing then.
 */
export async function backfill(input: BackfillInput): Promise<BackfillState> {
  const { request, cells, maxHistoryEvents, useSearchAttributes } = input;
  const matrix = new BackfillMatrix(request, cells);
  setHandler(backfillQuery, () => matrix.state());
  const record = () => recordBackfill({ store: request.store, ...matrix.state() });

  const score: Score = (asked) =>
    scoreBenchmark({ request: asked, ...(useSearchAttributes && { useSearchAttributes }) });
  const work = fill(matrix, score).then(() => 'over' as const);
  const outcome = await finishOrGrowLong(work, matrix, maxHistoryEvents).catch(async (error: unknown) => {
    await CancellationScope.nonCancellable(() => Promise.allSettled([work, record()]));
    throw error;
  });
  await record();
  if (outcome === 'over') return matrix.state();
  return continueAsNew<typeof backfill>({
    ...input,
    cells: matrix.carried(),
  });
}

/**
 * Benchmarks under way are found again by their id, so nobody has to wait for their end to continue as new. To find them is history too:
 * an execution that ends with nothing else would be followed by another one like it.
 */
async function finishOrGrowLong(
  work: Promise<'over'>,
  matrix: BackfillMatrix,
  maxHistoryEvents = MAX_EVENTS,
): Promise<'over' | 'long'> {
  const isLong = () => {
    const { continueAsNewSuggested, historyLength } = workflowInfo();
    return continueAsNewSuggested || (matrix.hasComeOn && historyLength >= maxHistoryEvents);
  };
  return Promise.race([work, condition(isLong).then(() => 'long' as const)]);
}

/** A column that cannot be looked up, e.g. because its data is away, holds up no other. */
async function fill(matrix: BackfillMatrix, score: Score): Promise<void> {
  const slots = new Slots(matrix.request.parallel);
  const lookups = new Slots(LOOKUPS_AT_ONCE);
  const run = (cells: readonly BackfillCell[]) =>
    Promise.all(cells.map((cell) => slots.run(() => runCell(matrix, cell, score))));

  await Promise.all([
    run(matrix.unfinished()),
    ...matrix
      .unknownParts(CELLS_A_LOOKUP)
      .map(async (part) => run(await lookups.run(() => lookUp(matrix, part)))),
  ]);
}

async function lookUp(matrix: BackfillMatrix, part: ColumnPart): Promise<BackfillCell[]> {
  const { store, asking, inspectTasks, checkpoints, benchmarks } = matrix.request;
  const { column, rows } = part;
  try {
    const findings = await findCells({
      store,
      asking,
      ...(inspectTasks && { inspectTasks }),
      benchmark: benchmarks[column] ?? '',
      checkpoints: rows.flatMap((row) => checkpoints[row] ?? []),
    });
    return matrix.applyFindings(part, findings);
  } catch (error) {
    throwIfCancelled(error);
    for (const row of rows) matrix.update({ row, column, status: 'failed', reason: reasonOf(error) });
    return [];
  }
}

async function runCell(matrix: BackfillMatrix, cell: BackfillCell, score: Score): Promise<void> {
  const { request } = matrix;
  const checkpoint = request.checkpoints[cell.row];
  const { evalRun, row, column } = cell;
  const benchmark = request.benchmarks[column];
  if (!checkpoint || evalRun === undefined || benchmark === undefined) return;
  const place = `evals/${evalRun}/${benchmark}`;
  matrix.update({ row, column, evalRun, place, status: 'running' });
  try {
    const summary = await score(benchmarkRequestOf(request, checkpoint, { evalRun, benchmark }));
    matrix.update(scoredCell(cell, summary, request.inspectTasks?.[benchmark] !== undefined));
  } catch (error) {
    throwIfCancelled(error);
    matrix.update({ row, column, evalRun, status: 'failed', reason: reasonOf(error) });
  }
}

/** A cell that somebody cancelled is a failed cell; cancelling the backfill is something else. */
function throwIfCancelled(error: unknown): void {
  if (CancellationScope.current().consideredCancelled) throw error;
}
