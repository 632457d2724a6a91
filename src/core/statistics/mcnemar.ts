import { logChoose } from './log-gamma';
import { normalTwoSided } from './normal-distribution';

/**
 * Exact McNemar test (McNemar 1947): two-sided p-value of "the examples that only one of two systems gets right fall to
 * either with the same chance". min(1, 2 · P(X ≤ min(b, c))), X binomial with b + c trials of one half. 1 where they never differ.
 */
export function mcnemarExact(onlyFirst: number, onlySecond: number): number {
  const trials = onlyFirst + onlySecond;
  const fewer = Math.min(onlyFirst, onlySecond);
  let sum = 0;
  for (let count = fewer; count >= 0; count--) {
    const term = Math.exp(logChoose(trials, count) - trials * Math.LN2);
    sum += term;
    if (term < sum * Number.EPSILON) break;
  }
  return Math.min(1, 2 * sum);
}

export interface ChiSquared {
  readonly chiSquared: number;
  readonly pValue: number;
}

/** McNemar's test by chi-squared with one degree of freedom and Edwards' continuity correction: (|b − c| − 1)² / (b + c). */
export function mcnemarChiSquared(onlyFirst: number, onlySecond: number): ChiSquared {
  const trials = onlyFirst + onlySecond;
  if (trials === 0) return { chiSquared: 0, pValue: 1 };
  const chiSquared = Math.max(0, Math.abs(onlyFirst - onlySecond) - 1) ** 2 / trials;
  return { chiSquared, pValue: normalTwoSided(Math.sqrt(chiSquared)) };
}
