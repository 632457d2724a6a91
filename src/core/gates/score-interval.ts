import type { PairedDifference } from '../statistics/paired-difference';
import { normalQuantile } from '../statistics/normal-distribution';
import { shareOf } from '../statistics/share-of';
import type { Interval } from '../statistics/wilson-interval';
import { wilsonInterval } from '../statistics/wilson-interval';
import type { GateScore } from './gate';

type Score = Omit<GateScore, 'step'>;

/**
 * Two-sided interval of a score at a level such as 0.95; null where no error is known.
 *
 * A mean of zeros and ones gets Wilson's interval, which is not empty where all or none succeed, and so do clusters that are all
 * alike; others value ± z standard errors.
 */
export function scoreInterval({ value, stderr, n, clusters }: Score, level: number): Interval | null {
  if (stderr === null || n < 2) return null;
  const z = normalQuantile((1 + level) / 2);
  const share = shareOf({ value, stderr, n, clusters });
  if (share !== null) return wilsonInterval(share.successes, share.trials, z);
  return [value - z * stderr, value + z * stderr];
}

/**
 * Interval of the difference first − second of two scores whose errors are independent, from the intervals of both (Zou and
 * Donner 2008; of proportions Newcombe's hybrid score interval). null where one has none.
 */
export function differenceInterval(first: Score, second: Score, level: number): Interval | null {
  const [one, other] = [scoreInterval(first, level), scoreInterval(second, level)];
  if (one === null || other === null) return null;
  const difference = first.value - second.value;
  return [
    difference - Math.hypot(first.value - one[0], other[1] - second.value),
    difference + Math.hypot(one[1] - first.value, second.value - other[0]),
  ];
}

export interface ComparedScores {
  readonly score: GateScore;
  readonly other: GateScore;
  /** The first less the other, on the examples of both; null where examples are not known. */
  readonly paired: Pick<PairedDifference, 'difference' | 'standardError' | 'n'> | null;
}

/** Paired where the same examples were scored, which takes their own difficulty out of the error. */
export function comparedInterval({ score, other, paired }: ComparedScores, level: number): Interval | null {
  const spread = paired?.standardError ?? 0;
  // Without any spread the pairs say nothing of how sure the difference is.
  if (paired === null || spread < 1e-12) return differenceInterval(score, other, level);
  const half = normalQuantile((1 + level) / 2) * spread;
  return [paired.difference - half, paired.difference + half];
}
