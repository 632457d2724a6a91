/**
 * pass^k: the chance that k samples are all correct, when c of n were: C(c, k) / C(n, k) (Yao et al. 2024, τ-bench,
 * arXiv:2406.12045). null when fewer than k samples were drawn.
 */
export function passHatK(n: number, c: number, k: number): number | null {
  if (n < k) return null;
  let chance = 1;
  for (let drawn = 0; drawn < k; drawn++) chance *= Math.max(0, c - drawn) / (n - drawn);
  return chance;
}
