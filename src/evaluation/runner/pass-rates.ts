import { passCounts } from '../../core/benchmark-run';
import { meanOf } from '../../core/statistics/mean';

type PassRate = (n: number, c: number, k: number) => number | null;

/** How many samples of an example were judged, and how many of those are right. */
export interface JudgedSamples {
  readonly count: number;
  readonly correct: number;
}

/**
 * A rate such as pass@k, by k, in the mean over the examples of which k samples were judged: the others cannot say. A k that none can
 * say has no rate.
 */
export function passRates(
  examples: readonly JudgedSamples[],
  numSamples: number,
  rateOf: PassRate,
): Record<string, number> {
  const rates: Record<string, number> = {};
  for (const k of passCounts(numSamples)) {
    const mean = meanOf(
      examples.map(({ count, correct }) => rateOf(count, correct, k)).filter((value) => value !== null),
    );
    if (mean) rates[String(k)] = mean.mean;
  }
  return rates;
}
