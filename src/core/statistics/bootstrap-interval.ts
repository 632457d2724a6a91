import { createRandom } from '../random';
import type { Interval } from './wilson-interval';

export interface BootstrapOptions {
  /** Of the interval, 0.95 unless told. */
  readonly level?: number;
  readonly rounds?: number;
  readonly seed?: number;
}

/**
 * Percentile bootstrap interval (Efron 1979) of a statistic: it is computed on `rounds` draws of as many values with
 * replacement, and the interval holds the middle `level` of the results. The same seed draws the same values.
 * Quantiles are interpolated linearly. null without values.
 */
export function bootstrapInterval<Value extends object | string | number | boolean>(
  values: readonly Value[],
  statistic: (drawn: readonly Value[]) => number,
  { level = 0.95, rounds = 1000, seed = 0 }: BootstrapOptions = {},
): Interval | null {
  if (values.length === 0) return null;
  const random = createRandom(seed);
  const results = Float64Array.from({ length: rounds }, () => statistic(drawFrom(values, random))).sort();
  return [quantileOf(results, (1 - level) / 2), quantileOf(results, (1 + level) / 2)];
}

function drawFrom<Value extends object | string | number | boolean>(
  values: readonly Value[],
  random: () => number,
): Value[] {
  return values.map((value) => values[Math.floor(random() * values.length)] ?? value);
}

function quantileOf(sorted: Float64Array, probability: number): number {
  const position = probability * (sorted.length - 1);
  const below = Math.floor(position);
  const low = sorted[below] ?? NaN;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] ?? NaN;
  return low + (position - below) * (high - low);
}
