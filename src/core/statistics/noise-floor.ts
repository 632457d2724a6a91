import { meanOf } from './mean';
import { normalQuantile } from './normal-distribution';

export interface NoiseFloorOptions {
  /** Share of differences of two runs of the same model that stay below the floor; 0.95 unless told. */
  readonly level?: number;
  /** Samples of each example in one run whose scores are compared; 1 unless told. */
  readonly samplesPerExample?: number;
}

export interface NoiseFloor {
  /** A difference of two runs' mean scores up to this size is what sampling alone explains. */
  readonly difference: number;
  /** Standard error of such a difference. */
  readonly standardError: number;
  /** Variance of a single sample's score around its example's own mean, averaged over the examples. */
  readonly sampleVariance: number;
  /** Examples that were sampled at least twice. */
  readonly n: number;
}

/**
 * How far the mean scores of two runs of the *same* model lie apart by the luck of sampling alone. Each inner list holds the
 * scores of one example, sampled again and again.
 *
 * With σᵢ² the variance (n−1) of example i's scores, K samples an example in a run and n examples, the difference has
 * variance 2 · mean(σᵢ²) / (K · n): the conditional part of Miller 2024 (arXiv:2411.00640, §3), because the examples are the same.
 * null where no example was sampled twice.
 */
export function noiseFloor(
  scoresByExample: readonly (readonly number[])[],
  { level = 0.95, samplesPerExample = 1 }: NoiseFloorOptions = {},
): NoiseFloor | null {
  const variances = scoresByExample.flatMap((scores) => varianceOf(scores) ?? []);
  const sampleVariance = meanOf(variances)?.mean;
  if (sampleVariance === undefined) return null;
  const standardError = Math.sqrt((2 * sampleVariance) / (samplesPerExample * scoresByExample.length));
  const difference = normalQuantile((1 + level) / 2) * standardError;
  return { difference, standardError, sampleVariance, n: variances.length };
}

function varianceOf(scores: readonly number[]): number | null {
  const mean = meanOf(scores);
  return mean?.standardError == null ? null : mean.standardError ** 2 * mean.n;
}
