import { passCounts } from '../../core/benchmark-run';
import { meanOf } from '../../core/statistics/mean';

type PassRate = (n: number, c: number, k: number) => number | null;

/** A rate such as pass@k, in the mean over examples, by k. `correct`: how many of its `numSamples` samples each example has right. */
export function passRates(
  correct: readonly number[],
  numSamples: number,
  rateOf: PassRate,
): Record<string, number> {
  const rates: Record<string, number> = {};
  for (const k of passCounts(numSamples)) {
    const mean = meanOf(
      correct.map((count) => rateOf(numSamples, count, k)).filter((value) => value !== null),
    );
    if (mean) rates[String(k)] = mean.mean;
  }
  return rates;
}
