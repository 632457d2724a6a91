import type { Interval } from './wilson-interval';
import { Z_95 } from './wilson-interval';

/**
 * 95 % interval of a mean that cannot be negative, e.g. nats per token: that of its logarithm, mean · e^(± 1.96 · standard error ÷ mean)
 * (delta method). Unlike mean ± 1.96 standard errors it stays above 0; where the error is small beside the mean, the two are one.
 */
export function positiveInterval(mean: number, standardError: number): Interval {
  if (mean <= 0) return [0, Z_95 * standardError];
  const factor = Math.exp((Z_95 * standardError) / mean);
  return [mean / factor, mean * factor];
}
