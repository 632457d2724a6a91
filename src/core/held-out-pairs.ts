/** Looked up once: an evaluation asks about every pair. */
const { imul, max, min } = Math;

/**
 * Which pairs (a, b), 0 ≤ a, b ≤ 99, no model of ours ever trains on: about one in ten, spread over all sums.
 *
 * Symmetric, because a + b and b + a have one answer. The base model's corpus, the shipped training data
 * and the `arithmetic` benchmark all use this one rule.
 */
export function isHeldOutPair(a: number, b: number): boolean {
  let hash = imul(min(a, b) * 131 + max(a, b) + 1, 2654435761);
  hash ^= hash >>> 15;
  hash = imul(hash, 2246822519);
  hash ^= hash >>> 13;
  return (hash >>> 0) % 10 === 0;
}
