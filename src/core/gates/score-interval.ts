import { normalQuantile } from '../statistics/normal-distribution';
import type { Interval } from '../statistics/wilson-interval';
import { wilsonInterval } from '../statistics/wilson-interval';
import type { GateScore } from './gate';

type Score = Omit<GateScore, 'step'>;

/**
 * Two-sided interval of a score at a level such as 0.95; null where no error is known.
 *
 * A mean of zeros and ones gets Wilson's interval, which is not empty where all or none succeed; others value ± z standard
 * errors.
 */
export function scoreInterval({ value, stderr, n }: Score, level: number): Interval | null {
  if (stderr === null || n < 2) return null;
  const z = normalQuantile((1 + level) / 2);
  if (isProportion({ value, stderr, n })) return wilsonInterval(Math.round(value * n), n, z);
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

/** The standard error of a proportion follows from it. Either denominator, n or n − 1, is in use. */
function isProportion({ value, stderr, n }: Score): boolean {
  if (value < 0 || value > 1 || Math.abs(value * n - Math.round(value * n)) > 1e-6) return false;
  const variance = value * (1 - value);
  return [n, n - 1].some((count) => Math.abs((stderr ?? 0) ** 2 - variance / count) < 1e-9);
}
