import type { BenchmarkPlace, PlannedBenchmark } from '../../core/benchmark-run';
import type { Benchmark } from '../benchmarks/benchmark';
import type { BenchmarkPlan } from './benchmark-plan';
import { begunShards, readProgress, shardFolder } from './benchmark-plan';
import { isShardWhole } from './shard-journals';

/** What the workflow of a planned benchmark has to do. */
export async function leftToDo(plan: BenchmarkPlan, { needsSandbox }: Benchmark): Promise<PlannedBenchmark> {
  const { benchmark: name, starts } = plan;
  return {
    ...{ name, starts, pendingShards: await pendingShards(plan), finished: null },
    ...(needsSandbox && { needsSandbox }),
  };
}

/** A shard that is complete and has errors, or whose journals somebody damaged since, is tried again. */
async function pendingShards(plan: BenchmarkPlan): Promise<number[]> {
  const place = { ...plan.request, benchmark: plan.benchmark };
  const done = new Set<number>();
  // One at a time: the journals of one shard are in memory.
  for (const shard of await begunShards(place, plan)) if (await isDone(place, shard)) done.add(shard);
  return [...plan.shards.keys()].filter((shard) => !done.has(shard));
}

async function isDone(place: BenchmarkPlace, shard: number): Promise<boolean> {
  const found = await readProgress(place, shard);
  if (!found?.isComplete || found.errorCount > 0) return false;
  return isShardWhole(shardFolder(place, shard), found.total);
}
