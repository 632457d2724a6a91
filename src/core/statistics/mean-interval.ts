import type { Interval } from './wilson-interval';
import { wilsonInterval, Z_95 } from './wilson-interval';

interface MeanOfClusters {
  readonly mean: number;
  readonly standardError: number;
  /** Independent parts of the mean: examples, or what several of them hang together by. */
  readonly clusterCount: number;
  /** Every value is 0 or 1. */
  readonly isBinary: boolean;
}

/** The interval of a mean of values between 0 and 1, which cannot be beyond them either. */
export function withinUnit([low, high]: Interval): Interval {
  return [Math.max(0, low), Math.min(1, high)];
}

/** The interval of the mean of these values: cut at 0 and 1 where all of them lie between, as rewards of environments need not. */
export function withinValues(interval: Interval, values: readonly number[]): Interval {
  return values.every((value) => value >= 0 && value <= 1) ? withinUnit(interval) : interval;
}

/** What rounding leaves of a standard error of 0. */
const SPECK = 1e-12;

/**
 * 95 % interval of a mean of clusters: mean ± 1.96 standard errors, of zeros and ones cut at 0 and 1.
 *
 * Zeros and ones whose clusters all have one mean have a standard error of 0, which would claim certainty from however few
 * examples. As samples of one example tell as much together as one does (their design effect is their number, so that n/deff is
 * the number of clusters), they get Wilson's interval with the clusters as its trials: the score interval at the effective sample
 * size (Korn and Graubard 1998, Survey Methodology 24, with Wilson's in place of the exact one).
 */
export function meanInterval({ mean, standardError, clusterCount, isBinary }: MeanOfClusters): Interval {
  const spread = Z_95 * standardError;
  if (!isBinary) return [mean - spread, mean + spread];
  const wilson = standardError < SPECK ? wilsonInterval(mean * clusterCount, clusterCount) : null;
  return wilson ?? withinUnit([mean - spread, mean + spread]);
}
