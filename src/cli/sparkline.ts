import { largestOf, smallestOf } from '../core/extremes';

const BARS = '▁▂▃▄▅▆▇█';

/** Values as a row of bars, the newest on the right; several values that share a bar are averaged. Empty below two values. */
export function sparkline(values: readonly number[], width: number): string {
  const finite = values.filter((value) => Number.isFinite(value));
  if (finite.length < 2) return '';
  const count = Math.min(width, finite.length);
  const means = Array.from({ length: count }, (_, index) => {
    const from = Math.floor((index * finite.length) / count);
    const to = Math.floor(((index + 1) * finite.length) / count);
    const part = finite.slice(from, to);
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
  const [low, high] = [smallestOf(means), largestOf(means)];
  const height = (value: number) => (high === low ? 0 : (value - low) / (high - low));
  return means.map((value) => BARS[Math.round(height(value) * (BARS.length - 1))] ?? '').join('');
}
