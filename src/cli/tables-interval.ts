import type { ScoreRow } from '../core/run';

const Z_95 = 1.959964;

type Interval = readonly [low: number, high: number];

/**
 * 95 % interval of a score; null where no error is known.
 *
 * A mean of zeros and ones gets Wilson's interval, which is right also at 0 and 1, where the standard error is 0.
 */
export function confidenceInterval({
  value,
  stderr,
  n,
}: Pick<ScoreRow, 'value' | 'stderr' | 'n'>): Interval | null {
  if (value === null || stderr === null || n < 1) return null;
  if (isProportion(value, stderr, n)) return wilson(value, n);
  return [value - Z_95 * stderr, value + Z_95 * stderr];
}

/** The standard error of a proportion is fixed by the proportion. Either denominator, n or n - 1, is in use. */
function isProportion(value: number, stderr: number, n: number): boolean {
  if (value < 0 || value > 1 || Math.abs(value * n - Math.round(value * n)) > 1e-6) return false;
  const variance = value * (1 - value);
  return [n, n - 1].some((count) => count > 0 && Math.abs(stderr ** 2 - variance / count) < 1e-9);
}

function wilson(value: number, n: number): Interval {
  const squared = Z_95 ** 2;
  const center = (value + squared / (2 * n)) / (1 + squared / n);
  const half = (Z_95 / (1 + squared / n)) * Math.sqrt((value * (1 - value)) / n + squared / (4 * n * n));
  return [value === 0 ? 0 : center - half, value === 1 ? 1 : center + half];
}
