/** Every pair (a, b) with 0 ≤ a, b ≤ 99. */
export const LARGEST_NUMBER = 99;

const ONE_IN = 10;

/**
 * Whether the sum of a and b is kept for testing: about one pair in ten, (a, b) and (b, a) alike.
 *
 * All bits are mixed before the remainder is taken: a weaker hash keeps back every pair of some sums, and a model
 * that never saw an answer cannot give it. The sums with few pairs, at both ends, are always shown.
 */
export function heldOut(a: number, b: number): boolean {
  if (a + b < 4 || a + b > 2 * LARGEST_NUMBER - 4) return false;
  let mixed = (Math.min(a, b) * 1009 + Math.max(a, b) * 9176 + 7) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x9e3779b1);
  mixed ^= mixed >>> 15;
  return (mixed >>> 0) % ONE_IN === 0;
}

export function allPairs(): [number, number][] {
  const numbers = Array.from({ length: LARGEST_NUMBER + 1 }, (_, number) => number);
  return numbers.flatMap((a) => numbers.map((b): [number, number] => [a, b]));
}
