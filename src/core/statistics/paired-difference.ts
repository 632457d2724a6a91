import { meanOf } from './mean';
import type { Interval } from './wilson-interval';
import { Z_95 } from './wilson-interval';

export interface PairedDifference {
  /** Mean of first − second over the pairs. */
  readonly difference: number;
  readonly standardError: number | null;
  /** null where there is no spread to divide by. */
  readonly z: number | null;
  readonly interval: Interval | null;
  readonly n: number;
}

/**
 * Difference of two systems measured on the same examples. Pairing removes the examples' own difficulty from the
 * error, so it finds differences that comparing the two means misses (Miller 2024, arXiv:2411.00640). null without pairs.
 */
export function pairedDifference(
  pairs: readonly (readonly [first: number, second: number])[],
): PairedDifference | null {
  const mean = meanOf(pairs.map(([first, second]) => first - second));
  if (mean === null) return null;
  const { mean: difference, standardError, n } = mean;
  if (standardError === null) return { difference, standardError, z: null, interval: null, n };
  return {
    difference,
    standardError,
    z: standardError === 0 ? null : difference / standardError,
    interval: [difference - Z_95 * standardError, difference + Z_95 * standardError],
    n,
  };
}
