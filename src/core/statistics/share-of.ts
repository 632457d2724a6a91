interface MeasuredMean {
  readonly value: number;
  readonly stderr: number;
  readonly n: number;
  /** Independent parts of `n`, where several hang together. */
  readonly clusters?: number | undefined;
}

interface Share {
  readonly successes: number;
  readonly trials: number;
}

/** What rounding leaves of a standard error of 0. */
const SPECK = 1e-12;

/**
 * What a mean is a share of; null where it cannot be told to be one.
 *
 * The standard error of a share follows from it. Clusters that are all alike have a standard error of 0, which would claim
 * certainty from however few: each then tells as much as one trial (`meanInterval` says why).
 */
export function shareOf(measured: MeasuredMean): Share | null {
  const { value, stderr, n, clusters } = measured;
  if (value < 0 || value > 1) return null;
  if (clusters !== undefined) {
    return stderr < SPECK ? { successes: value * clusters, trials: clusters } : null;
  }
  return isProportion(measured) ? { successes: Math.round(value * n), trials: n } : null;
}

/** Either denominator, n or n − 1, is in use. */
function isProportion({ value, stderr, n }: MeasuredMean): boolean {
  if (Math.abs(value * n - Math.round(value * n)) > 1e-6) return false;
  const variance = value * (1 - value);
  return [n, n - 1].some((count) => count > 0 && Math.abs(stderr ** 2 - variance / count) < 1e-9);
}
