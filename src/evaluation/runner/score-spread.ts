import type { MaybeClustered } from '../../core/statistics/clustered-mean';
import { clusteredSpread } from '../../core/statistics/clustered-mean';
import { meanOf } from '../../core/statistics/mean';
import { meanInterval, withinValues } from '../../core/statistics/mean-interval';
import type { Interval } from '../../core/statistics/wilson-interval';
import { wilsonInterval } from '../../core/statistics/wilson-interval';
import type { StoredResult } from '../../stores/eval-store';

interface Rewards {
  /** Every reward is 0 or 1. */
  readonly isBinary: boolean;
  readonly isAskedOnce: boolean;
}

/**
 * Score, a mean of rewards, and how far it may be off. Examples that hang together vary together: their spread is that of clusters, as where two
 * results are compared.
 */
export function spreadOf(
  examples: readonly MaybeClustered[],
  rewards: Rewards,
): Pick<StoredResult, 'score' | 'stderr' | 'ci' | 'num_clusters'> {
  const values = examples.map(({ value }) => value);
  const all = meanOf(values);
  const mean = all?.mean ?? 0;
  const clustered = clusteredSpread(examples);
  if (clustered) {
    const { standardError, clusterCount } = clustered;
    const interval = meanInterval({ mean, standardError, clusterCount, isBinary: rewards.isBinary });
    const ci = withinValues(interval, values);
    return { score: mean, stderr: standardError, ci, num_clusters: clusterCount };
  }
  const stderr = all?.standardError ?? null;
  return { score: mean, stderr, ci: independentInterval(values, { mean, stderr }, rewards) };
}

/** Wilson's for right or wrong asked once, else that of the mean of examples. */
function independentInterval(
  values: readonly number[],
  { mean, stderr }: { readonly mean: number; readonly stderr: number | null },
  rewards: Rewards,
): Interval | null {
  if (rewards.isBinary && rewards.isAskedOnce) {
    return wilsonInterval(values.filter((value) => value === 1).length, values.length);
  }
  const { isBinary } = rewards;
  if (stderr === null) return null;
  const interval = meanInterval({ mean, standardError: stderr, clusterCount: values.length, isBinary });
  return withinValues(interval, values);
}
