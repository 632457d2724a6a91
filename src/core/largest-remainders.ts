import { largestOf } from './extremes';

/**
 * Whole shares of `total` in proportion to the weights, none of them 0: what is left after rounding down goes to the
 * largest remainders (Hamilton's method).
 */
export function largestRemainders(weights: readonly number[], total: number): number[] {
  const sum = weights.reduce((whole, weight) => whole + weight, 0);
  const exact = weights.map((weight) => (weight / sum) * total);
  const shares = exact.map((share) => Math.max(1, Math.floor(share)));
  const byRemainder = exact
    .map((share, index) => ({ index, remainder: share - Math.floor(share) }))
    .sort((left, right) => right.remainder - left.remainder || left.index - right.index);
  let left = total - shares.reduce((whole, share) => whole + share, 0);
  for (let turn = 0; left > 0; turn++, left--) {
    const index = byRemainder[turn % byRemainder.length]?.index ?? 0;
    shares[index] = (shares[index] ?? 0) + 1;
  }
  for (; left < 0; left++) {
    const largest = shares.indexOf(largestOf(shares));
    shares[largest] = (shares[largest] ?? 1) - 1;
  }
  return shares;
}
