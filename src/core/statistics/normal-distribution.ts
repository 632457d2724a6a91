const LARGEST_TERM_COUNT = 500;

/**
 * Distribution function of the standard normal. Accurate also far out, where 1 − the other side would be 0:
 * erfc by its power series near 0 and by its continued fraction beyond (Abramowitz & Stegun 7.1.6 and 7.1.14).
 */
export function normalCdf(z: number): number {
  const tail = erfcOfPositive(Math.abs(z) / Math.SQRT2) / 2;
  return z > 0 ? 1 - tail : tail;
}

/** Chance that a standard normal value is at least as far from 0 as z: the two-sided p-value of a z. */
export function normalTwoSided(z: number): number {
  return erfcOfPositive(Math.abs(z) / Math.SQRT2);
}

/** The z below which a standard normal value lies with this probability; ±Infinity at 1 and 0. */
export function normalQuantile(probability: number): number {
  if (!(probability >= 0 && probability <= 1)) return NaN;
  if (probability === 0) return -Infinity;
  if (probability > 0.5) return -lowerQuantile(1 - probability);
  return lowerQuantile(probability);
}

function lowerQuantile(probability: number): number {
  if (probability === 0) return -Infinity;
  if (probability === 0.5) return 0;
  let low = -40;
  let high = 0;
  // Halves the range until it cannot be halved: slow beside a table of coefficients, and nothing in it can be mistyped.
  for (let middle = -20; middle > low && middle < high; middle = (low + high) / 2) {
    if (normalCdf(middle) < probability) low = middle;
    else high = middle;
  }
  return high;
}

function erfcOfPositive(x: number): number {
  if (x === Infinity) return 0;
  return x < 2 ? 1 - erfBySeries(x) : erfcByFraction(x);
}

/** erf(x) = 2/√π · e^(−x²) · Σ 2ⁿ x^(2n+1) / (2n+1)!!; every term is positive, so nothing cancels. */
function erfBySeries(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; n < LARGEST_TERM_COUNT && term > sum * Number.EPSILON; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** erfc(x) = e^(−x²)/√π · 1/(x + (1/2)/(x + 1/(x + (3/2)/(x + …)))), from the inside out. */
function erfcByFraction(x: number): number {
  let fraction = x;
  for (let n = 150; n >= 1; n--) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * fraction);
}
