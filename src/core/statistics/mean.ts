export interface Mean {
  readonly mean: number;
  /** null with fewer than two values. */
  readonly standardError: number | null;
  readonly n: number;
}

/** Arithmetic mean ± standard error: the standard deviation with n−1, divided by √n. null without values. */
export function meanOf(values: readonly number[]): Mean | null {
  const n = values.length;
  if (n === 0) return null;
  const mean = sum(values) / n;
  if (n === 1) return { mean, standardError: null, n };
  const squares = sum(values.map((value) => (value - mean) ** 2));
  return { mean, standardError: Math.sqrt(squares / (n - 1) / n), n };
}

export interface RatioPart {
  readonly numerator: number;
  readonly denominator: number;
}

/**
 * Σ numerators ÷ Σ denominators, with the standard error of a ratio estimator over n independent parts:
 * √(n/(n−1) · Σ(numeratorᵢ − ratio·denominatorᵢ)²) ÷ Σ denominators (Cochran, Sampling Techniques, §2.11).
 *
 * For means over tokens, where the examples and not their tokens are independent. null when the denominators sum to 0.
 */
export function ratioOf(parts: readonly RatioPart[]): Mean | null {
  const n = parts.length;
  const denominator = sum(parts.map((part) => part.denominator));
  if (denominator === 0) return null;
  const mean = sum(parts.map((part) => part.numerator)) / denominator;
  if (n < 2) return { mean, standardError: null, n };
  const squares = sum(parts.map((part) => (part.numerator - mean * part.denominator) ** 2));
  return { mean, standardError: Math.sqrt((n / (n - 1)) * squares) / denominator, n };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
