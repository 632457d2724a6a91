import type {
  BenchmarkPlace,
  BenchmarkRequest,
  BenchmarkSummary,
  PlannedBenchmark,
  ShardCounts,
} from '../core/benchmark-run';
import { explainDamage } from '../evaluation/runner/explain-damage';
import type { BenchmarkShardInput, ShardDependencies } from '../evaluation/runner/benchmark-shard';
import { runBenchmarkShard } from '../evaluation/runner/benchmark-shard';
import type { FinishedPlace } from '../evaluation/runner/finish-benchmark';
import { finishBenchmark } from '../evaluation/runner/finish-benchmark';
import { guardBenchmark } from '../evaluation/runner/guard-benchmark';
import type { PlanDependencies } from '../evaluation/runner/plan-benchmark';
import { planBenchmark } from '../evaluation/runner/plan-benchmark';
import { epochOf, withHeartbeat } from './activity-context';
import { tryInTime } from './try-in-time';

interface BenchmarkChecks {
  /** Anybody who reaches the server can start a benchmark; refuses what no command asks for. */
  readonly checkRequest: (request: BenchmarkRequest) => void;
}

export type BenchmarkDependencies = PlanDependencies & ShardDependencies & BenchmarkChecks;

interface Started {
  /** How often the benchmark was started. */
  readonly starts: number;
}

/** Benchmarks by themselves, for workers with the role `sampling`: they need the data, the model and the graders. */
export function createBenchmarkActivities(dependencies: BenchmarkDependencies) {
  return {
    /** Freezes the examples and cuts them into shards. Repeated, it finds what is there. A hub that stays away refuses it. */
    async planBenchmark(request: BenchmarkRequest): Promise<PlannedBenchmark> {
      dependencies.checkRequest(request);
      return withHeartbeat((run) =>
        guardBenchmark({ place: request, plugins: request.plugins }, run, () =>
          tryInTime(() => explained(request, planBenchmark(dependencies, request))),
        ),
      );
    },

    /** Samples and judges the examples of one shard. A repeated attempt goes on from the shard's journal. */
    async runBenchmarkShard(input: BenchmarkShardInput & Started): Promise<ShardCounts> {
      return withHeartbeat(({ signal, attempt, progress }) => {
        const epoch = epochOf(input.starts, attempt);
        return explained(
          input,
          runBenchmarkShard(dependencies, input, { epoch, attempt, signal, onProgress: progress }),
        );
      });
    },

    /** Writes result and trajectories from the journals. A repeated attempt writes them again. */
    async finishBenchmark({ starts, ...place }: FinishedPlace & Started): Promise<BenchmarkSummary> {
      return withHeartbeat((run) => {
        const finish = () => finishBenchmark(dependencies, place, epochOf(starts, run.attempt));
        return explained(place, guardBenchmark({ place }, run, finish));
      });
    },
  };
}

/** Damage that a person did to the folder is told as such, and not tried again for ever. */
async function explained<Result>(
  place: Pick<BenchmarkPlace, 'folder' | 'benchmark'>,
  work: Promise<Result>,
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw await explainDamage(place, error);
  }
}

export type BenchmarkActivities = ReturnType<typeof createBenchmarkActivities>;
