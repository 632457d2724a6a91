/**
 * Chance that at least one of k samples is correct, when c of n were: 1 − C(n−c, k) / C(n, k), computed without large
 * numbers (Chen et al. 2021, arXiv:2107.03374). null when fewer than k samples were drawn.
 */
export function passAtK(n: number, c: number, k: number): number | null {
  if (n < k) return null;
  if (n - c < k) return 1;
  let missed = 1;
  for (let drawn = n - c + 1; drawn <= n; drawn++) missed *= 1 - k / drawn;
  return 1 - missed;
}
