import { logGamma } from './log-gamma';

const SMALLEST = 1e-300;
const LARGEST_TERM_COUNT = 10_000;

/**
 * Chance that a value of Student's t distribution is at least as far from 0 as t: the two-sided p-value.
 * I(df/(df + t²); df/2, 1/2), the regularised incomplete beta function (Abramowitz & Stegun 26.5.27 and 26.7.1).
 */
export function studentTwoSided(t: number, degreesOfFreedom: number): number {
  if (!(degreesOfFreedom > 0)) return NaN;
  if (!Number.isFinite(t)) return Number.isNaN(t) ? NaN : 0;
  const squared = t * t;
  return regularizedBeta(degreesOfFreedom / (degreesOfFreedom + squared), degreesOfFreedom / 2, 0.5);
}

/** Distribution function of Student's t. */
export function studentCdf(t: number, degreesOfFreedom: number): number {
  const tail = studentTwoSided(t, degreesOfFreedom) / 2;
  return t > 0 ? 1 - tail : tail;
}

function regularizedBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const logFront = logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x);
  // The fraction converges fast on one side of the mean; on the other its mirror image does.
  if (x < (a + 1) / (a + b + 2)) return (Math.exp(logFront) * betaFraction(x, a, b)) / a;
  return 1 - (Math.exp(logFront) * betaFraction(1 - x, b, a)) / b;
}

/** Continued fraction of the incomplete beta function by Lentz's method (Press et al., Numerical Recipes, §6.4). */
function betaFraction(x: number, a: number, b: number): number {
  let numerator = 1;
  let denominator = 1 / awayFromZero(1 - ((a + b) * x) / (a + 1));
  let value = denominator;
  const advance = (coefficient: number): number => {
    denominator = 1 / awayFromZero(1 + coefficient * denominator);
    numerator = awayFromZero(1 + coefficient / numerator);
    value *= denominator * numerator;
    return denominator * numerator;
  };
  for (let m = 1; m < LARGEST_TERM_COUNT; m++) {
    advance((m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)));
    const change = advance((-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)));
    if (Math.abs(change - 1) < 1e-15) break;
  }
  return value;
}

function awayFromZero(value: number): number {
  return Math.abs(value) < SMALLEST ? SMALLEST : value;
}
