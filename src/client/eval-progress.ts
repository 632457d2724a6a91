import type { BenchmarkPlace, ExampleCounts, ShardCounts } from '../core/benchmark-run';
import { addCounts, NO_COUNTS, scoreSoFar } from '../core/benchmark-run';
import { DomainError } from '../core/errors';
import { meanInterval } from '../core/statistics/mean-interval';
import type { Interval } from '../core/statistics/wilson-interval';
import { wilsonInterval } from '../core/statistics/wilson-interval';
import type { BenchmarkPlan } from '../evaluation/runner/benchmark-plan';
import { findPlan, readAllProgress } from '../evaluation/runner/benchmark-plan';

/** What rounding leaves of sums of squares that are equal, as a part of them. */
const SPECK = 1e-12;

/** How far a benchmark is. Scores are of what is done so far. */
export interface BenchmarkProgress extends ShardCounts {
  readonly name: string;
  /** 0 where nobody knows it yet. */
  readonly total: number;
  /** null before anything is done. */
  readonly score: number | null;
  /** As that of the result. */
  readonly interval: Interval | null;
  /** `--max-examples`; null where all are asked. */
  readonly maxExamples: number | null;
}

/** From the eval run's folder, so that it needs no server; null before the benchmark is planned, and where its files are none. */
export async function readBenchmarkProgress(place: BenchmarkPlace): Promise<BenchmarkProgress | null> {
  try {
    return await countProgress(place);
  } catch (error) {
    // Whoever works on it is told of it by name; a list is of others too.
    if (error instanceof DomainError) return null;
    throw error;
  }
}

async function countProgress(place: BenchmarkPlace): Promise<BenchmarkProgress | null> {
  const plan = await findPlan(place);
  if (!plan || !saysHowMuch(plan)) return null;
  const progress = await readAllProgress(place, plan);
  const counts = [...progress.values()].reduce<ShardCounts>(addCounts, NO_COUNTS);
  const score = scoreSoFar(counts);
  // What Inspect makes of its samples it says at their end.
  const isComplete =
    progress.size === plan.shards.length && [...progress.values()].every((shard) => shard.isComplete);
  const isScored = score !== null && (isComplete || !isOfInspect(plan));
  return {
    ...counts,
    total: totalOf(plan, counts),
    name: place.benchmark,
    score: isScored ? score : null,
    interval: isScored ? intervalOf(counts, plan.numSamples) : null,
    maxExamples: maxExamplesOf(plan),
  };
}

/** What somebody has cut down may not. */
function saysHowMuch({ shards, exampleCount, numSamples }: Partial<BenchmarkPlan>): boolean {
  return [shards, exampleCount, numSamples].every((each) => each !== undefined);
}

/** Inspect alone knows how many samples its tasks have, and says so when it has loaded them. */
function totalOf({ exampleCount, numSamples, request }: BenchmarkPlan, { total }: ShardCounts): number {
  return isOfInspect({ request }) ? total : exampleCount * numSamples;
}

function isOfInspect({ request }: Partial<BenchmarkPlan>): boolean {
  return request?.inspectTask !== undefined;
}

/** A plan of an earlier version may say less. */
function maxExamplesOf({ request }: Partial<BenchmarkPlan>): number | null {
  return request?.maxExamples ?? null;
}

/** Wilson's for right or wrong asked once, else that of the mean of the examples. */
function intervalOf(counts: ShardCounts, numSamples: number): Interval | null {
  const { done, unreadCount = 0, rewardSum, rewardSquares } = counts;
  // Verdicts that cannot be read are in no score, as in the result.
  const scored = done - unreadCount;
  const isBinary = rewardSum === rewardSquares && Number.isInteger(rewardSum);
  if (numSamples > 1) return counts.examples ? spreadOf(counts.examples, isBinary) : null;
  if (isBinary) return wilsonInterval(rewardSum, scored);
  return spreadOf({ count: scored, sum: rewardSum, squares: rewardSquares }, false);
}

function spreadOf({ count, sum, squares }: ExampleCounts, isBinary: boolean): Interval | null {
  if (count < 2) return null;
  const mean = sum / count;
  const spread = squares - count * mean * mean;
  const standardError = spread < SPECK * squares ? 0 : Math.sqrt(spread / (count - 1) / count);
  return meanInterval({ mean, standardError, clusterCount: count, isBinary });
}
