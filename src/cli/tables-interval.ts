import type { ScoreRow } from '../core/run';
import { shareOf } from '../core/statistics/share-of';
import type { Interval } from '../core/statistics/wilson-interval';
import { wilsonInterval, Z_95 } from '../core/statistics/wilson-interval';

/**
 * 95 % interval of a score; null where no error is known.
 *
 * That of whoever measured it, where it is told. Else a mean of zeros and ones gets Wilson's interval, which is right also at 0 and 1, where the standard error is 0.
 */
export function confidenceInterval({
  value,
  stderr,
  n,
  clusters,
  ci,
}: Pick<ScoreRow, 'value' | 'stderr' | 'n' | 'clusters' | 'ci'>): Interval | null {
  if (ci !== undefined) return ci;
  if (value === null || stderr === null || n < 1) return null;
  const share = shareOf({ value, stderr, n, clusters });
  if (share !== null) return wilsonInterval(share.successes, share.trials);
  return [value - Z_95 * stderr, value + Z_95 * stderr];
}
