import { REINFORCEMENT_METRIC_KEYS as KEYS } from './reinforcement-metric-keys';
import { requireAligned } from './policy-logprobs';
import type { PolicyDatum } from './rollout-datums';

/**
 * How far the training engine's log-probabilities are from the sampler's, and the policy's entropy, over the tokens
 * with mask: k1 and k2 of Schulman, "Approximating KL divergence" (2020); tinker-cookbook, `compute_kl_sample_train`.
 *
 * `trainingLogprobs[d]` is what forward-backward returned for datum d. Nothing where no token has a mask.
 */
export function sampleTrainMetrics(
  datums: readonly PolicyDatum[],
  trainingLogprobs: readonly ArrayLike<number>[],
): Record<string, number> {
  const found = logprobDifferences(datums, trainingLogprobs);
  if (found === null) return {};
  return {
    [KEYS.klSampleTrain]: found.mean,
    [KEYS.klSampleTrainSquared]: found.halfSquare,
    [KEYS.entropy]: -found.sampledMean,
  };
}

/** How far an update moved the policy: `newLogprobs[d]` are the targets of datum d under the weights after it. */
export function prePostMetrics(
  datums: readonly PolicyDatum[],
  newLogprobs: readonly ArrayLike<number>[],
): Record<string, number> {
  const found = logprobDifferences(datums, newLogprobs);
  if (found === null) return {};
  return { [KEYS.klPrePost]: found.mean, [KEYS.klPrePostSquared]: found.halfSquare };
}

interface Differences {
  readonly mean: number;
  readonly halfSquare: number;
  readonly sampledMean: number;
}

function logprobDifferences(
  datums: readonly PolicyDatum[],
  others: readonly ArrayLike<number>[],
): Differences | null {
  requireAligned(datums, others);
  let count = 0;
  let differences = 0;
  let squares = 0;
  let sampled = 0;
  datums.forEach(({ mask, logprobs }, datumIndex) => {
    mask.forEach((value, index) => {
      if (value <= 0) return;
      const logprob = logprobs[index] ?? 0;
      const difference = logprob - (others[datumIndex]?.[index] ?? 0);
      count += 1;
      differences += difference;
      squares += difference * difference;
      sampled += logprob;
    });
  });
  if (count === 0) return null;
  return { mean: differences / count, halfSquare: squares / (2 * count), sampledMean: sampled / count };
}
