import { proxyActivities } from '@temporalio/workflow';
import type { BenchmarkActivities } from '../activities/benchmark-activities';
import type { BenchmarkSummary, PlannedBenchmark } from '../core/benchmark-run';
import { mapWithLimit } from '../core/concurrency/map-with-limit';
import { TASK_QUEUES } from '../core/task-queues';
import type { RunBenchmarkInput } from './benchmark-contracts';
import { publishingEnd } from './benchmark-search-attributes';

const RETRY = { initialInterval: '500 ms', backoffCoefficient: 2, maximumInterval: '20 seconds' } as const;

/** Data may have to come from the hub, and rows of megabytes are read in one go. */
const { planBenchmark, finishBenchmark } = proxyActivities<BenchmarkActivities>({
  taskQueue: TASK_QUEUES.sampling,
  startToCloseTimeout: '6 hours',
  heartbeatTimeout: '15 seconds',
  retry: RETRY,
});

/** A dead worker is noticed within seconds; an endpoint that is away is waited for as long as it takes. */
const SHARD = { startToCloseTimeout: '7 days', heartbeatTimeout: '5 seconds', retry: RETRY } as const;
const sampling = proxyActivities<BenchmarkActivities>({ ...SHARD, taskQueue: TASK_QUEUES.sampling });
/** Code of models runs only on workers that are there for it. */
const grading = proxyActivities<BenchmarkActivities>({ ...SHARD, taskQueue: TASK_QUEUES.grading });
const judging = proxyActivities<BenchmarkActivities>({ ...SHARD, taskQueue: TASK_QUEUES.judging });

/** Two, so that the next shard fills the places the last examples of one leave free. */
const SHARDS_AT_ONCE = 2;

/**
 * Score a model on one benchmark.
 *
 * Answers and judgements go to the eval run's folder and only counts return here, so history stays small whatever the
 * benchmark's size. Running it again finishes what is missing and tries again what failed; a result that is there and
 * complete is returned as it is.
 */
export async function runBenchmark(input: RunBenchmarkInput): Promise<BenchmarkSummary> {
  return publishingEnd(input, () => planAndRun(input));
}

async function planAndRun({ request }: RunBenchmarkInput): Promise<BenchmarkSummary> {
  const plan = await planBenchmark(request);
  const { name, starts, pendingShards, finished } = plan;
  if (finished) return finished;

  const { budget } = request;
  const limits = budget && { budget };
  const place = { run: request.run, folder: request.folder, benchmark: name, starts, ...limits };
  const { runBenchmarkShard } = queueOf(plan);
  // Each has what those before it left of a budget.
  const atOnce = budget ? 1 : SHARDS_AT_ONCE;
  await mapWithLimit(pendingShards, atOnce, (shard) => runBenchmarkShard({ ...place, shard }));
  return finishBenchmark(place);
}

function queueOf({ needsSandbox, needsJudgesOnly }: PlannedBenchmark) {
  if (needsJudgesOnly) return judging;
  return needsSandbox ? grading : sampling;
}
