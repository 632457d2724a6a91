import { smallestOf } from './extremes';

/** Nobody misspelt a known key by so many letters, and comparing takes the product of the lengths. */
const LONGEST_KEY = 200;

/** The known key that looks most like `key`, if one is near enough to be meant. */
export function nearestKey(key: string, knownKeys: readonly string[]): string | undefined {
  if (key.length > LONGEST_KEY) return undefined;
  const ranked = knownKeys
    .map((known) => ({ known, distance: editDistance(key.toLowerCase(), known.toLowerCase()) }))
    .sort((left, right) => left.distance - right.distance);
  const best = ranked[0];
  return best && best.distance <= Math.max(1, Math.floor(key.length / 3)) ? best.known : undefined;
}

/** Insertions, deletions, substitutions and swaps of neighbours that turn one text into the other. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const costs = [
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
      ];
      if (isSwap && row > 1 && column > 1) costs.push(at(beforeLast, column - 2) + 1);
      current.push(smallestOf(costs));
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0;
}
