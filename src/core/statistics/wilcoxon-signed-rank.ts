import { normalTwoSided } from './normal-distribution';

export interface SignedRank {
  /** Sum of the ranks of the positive differences, and of the negative ones. */
  readonly positiveRanks: number;
  readonly negativeRanks: number;
  /** Differences other than 0. */
  readonly n: number;
  /** Two-sided. */
  readonly pValue: number;
  readonly method: 'exact' | 'normal';
}

/** Above this the normal distribution is as good, and the exact one takes long. */
const EXACT_LIMIT = 50;

/**
 * Wilcoxon's signed-rank test (Wilcoxon 1945) of paired differences around 0. Differences of 0 are left out and equal ones
 * share their mean rank.
 *
 * Up to 50 differences the p-value is exact: all 2ⁿ choices of signs are counted, over the ranks as they are, ties
 * included. Beyond that it is that of the normal distribution with the variance corrected for ties, without continuity
 * correction. Says 1 where nothing differs.
 */
export function wilcoxonSignedRank(differences: readonly number[]): SignedRank {
  const nonZero = differences.filter((difference) => difference !== 0);
  const n = nonZero.length;
  const ranks = rankMagnitudes(nonZero);
  const positiveRanks = total(ranks.filter((_, index) => (nonZero[index] ?? 0) > 0));
  const negativeRanks = (n * (n + 1)) / 2 - positiveRanks;
  const smaller = Math.min(positiveRanks, negativeRanks);
  const isExact = n <= EXACT_LIMIT;
  const pValue = isExact ? exactPValue(ranks, smaller) : normalPValue(ranks, smaller);
  return { positiveRanks, negativeRanks, n, pValue, method: isExact ? 'exact' : 'normal' };
}

function rankMagnitudes(values: readonly number[]): number[] {
  const magnitudes = values.map(Math.abs);
  const order = [...magnitudes.keys()].sort(
    (left, right) => (magnitudes[left] ?? 0) - (magnitudes[right] ?? 0),
  );
  const ranks = new Array<number>(values.length).fill(0);
  for (let start = 0; start < order.length;) {
    const end = endOfTie(order, magnitudes, start);
    // Ranks count from 1; equal values share the mean of theirs.
    for (const index of order.slice(start, end)) ranks[index] = (start + 1 + end) / 2;
    start = end;
  }
  return ranks;
}

function endOfTie(order: readonly number[], magnitudes: readonly number[], start: number): number {
  const value = magnitudes[order[start] ?? 0];
  let end = start + 1;
  while (end < order.length && magnitudes[order[end] ?? 0] === value) end++;
  return end;
}

/** Counts sign choices by their sum of ranks. Ranks are doubled, because shared ones may be halves. */
function exactPValue(ranks: readonly number[], smaller: number): number {
  const doubled = ranks.map((rank) => Math.round(2 * rank));
  const chances = new Float64Array(total(doubled) + 1);
  chances[0] = 1;
  let reached = 0;
  for (const rank of doubled) {
    reached += rank;
    for (let sum = reached; sum >= 0; sum--) {
      const without = chances[sum] ?? 0;
      chances[sum] = (without + (sum >= rank ? (chances[sum - rank] ?? 0) : 0)) / 2;
    }
  }
  return Math.min(1, 2 * total([...chances.subarray(0, Math.round(2 * smaller) + 1)]));
}

/** Σ rank² / 4 is n(n+1)(2n+1)/24 less the correction for ties. */
function normalPValue(ranks: readonly number[], smaller: number): number {
  const n = ranks.length;
  const variance = total(ranks.map((rank) => rank * rank)) / 4;
  return normalTwoSided((smaller - (n * (n + 1)) / 4) / Math.sqrt(variance));
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
