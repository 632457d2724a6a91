import type { EngineLoss } from '../model-runtime';

/**
 * Losses as functions of one token's log-probability p, so that one backward pass serves them all.
 * Sums over tokens, as the training service defines them; q is the log-probability when the token was sampled.
 */

interface TokenLoss {
  readonly loss: number;
  /** dLoss / dp */
  readonly slope: number;
}

interface LossContext {
  readonly settings: Readonly<Record<string, number>>;
  /** What `shared` gave for the datum; 0 without it. */
  readonly shared: number;
}

export interface LossDefinition {
  /** The loss inputs besides the targets, in the order `evaluate` takes them. */
  readonly inputs: readonly string[];
  /** What an input is when a datum leaves it out; without it, it is required. */
  readonly defaultInput?: number;
  readonly settings: Readonly<Record<string, number>>;
  /** Whether a position may have several targets. */
  readonly takesSoftTargets?: boolean;
  /** What the tokens of one datum have in common, from their p and the datum's inputs; the gradient does not pass it. */
  readonly shared?: (logprobs: Float32Array, inputs: readonly Float32Array[]) => number;
  evaluate(p: number, inputs: readonly [number, number, number], context: LossContext): TokenLoss;
}

/** A ratio beyond this would overflow the float32 gradients and turn the weights into NaN. */
const LARGEST_LOG_RATIO = 60;

function ratioOf(p: number, q: number): number {
  return Math.exp(Math.min(LARGEST_LOG_RATIO, p - q));
}

/** -min(r A, clip(r) A), and its slope in log r. */
function clippedLoss(
  ratio: number,
  advantage: number,
  settings: Readonly<Record<string, number>>,
): TokenLoss {
  const free = ratio * advantage;
  const clipped = clip(ratio, settings) * advantage;
  return free <= clipped ? { loss: -free, slope: -free } : { loss: -clipped, slope: 0 };
}

function clip(ratio: number, settings: Readonly<Record<string, number>>): number {
  const { clip_low_threshold: low = 0, clip_high_threshold: high = Infinity } = settings;
  return Math.min(high, Math.max(low, ratio));
}

const POLICY_INPUTS = ['logprobs', 'advantages'];
/** 1 where a target is a sampled token; the server writes it, from the provenance that clients send. */
export const SAMPLED_INPUT = 'sampled';

export const LOSSES: Readonly<Record<EngineLoss, LossDefinition>> = {
  /** -w p */
  cross_entropy: {
    inputs: ['weights'],
    defaultInput: 1,
    settings: {},
    takesSoftTargets: true,
    evaluate: (p, [weight]) => (weight === 0 ? { loss: 0, slope: 0 } : { loss: -weight * p, slope: -weight }),
  },
  /** -r A with r = exp(p - q) */
  importance_sampling: {
    inputs: POLICY_INPUTS,
    settings: {},
    evaluate: (p, [q, advantage]) => {
      if (advantage === 0) return { loss: 0, slope: 0 };
      const objective = ratioOf(p, q) * advantage;
      return { loss: -objective, slope: -objective };
    },
  },
  /** -min(r A, clip(r) A) */
  ppo: {
    inputs: POLICY_INPUTS,
    settings: { clip_low_threshold: 0.8, clip_high_threshold: 1.2 },
    evaluate: (p, [q, advantage], { settings }) => {
      if (advantage === 0) return { loss: 0, slope: 0 };
      return clippedLoss(ratioOf(p, q), advantage, settings);
    },
  },
  /** -clip(r) p A, the ratio not being differentiated */
  cispo: {
    inputs: POLICY_INPUTS,
    settings: { clip_low_threshold: 0, clip_high_threshold: 4 },
    evaluate: (p, [q, advantage], { settings }) => {
      if (advantage === 0) return { loss: 0, slope: 0 };
      const factor = clip(ratioOf(p, q), settings) * advantage;
      return { loss: -factor * p, slope: -factor };
    },
  },
  /** -(p A - beta (p - q)² / 2) */
  dro: {
    inputs: POLICY_INPUTS,
    settings: { beta: 0.05 },
    evaluate: (p, [q, advantage], { settings: { beta = 0 } }) => ({
      loss: -(p * advantage - 0.5 * beta * (p - q) ** 2),
      slope: beta * (p - q) - advantage,
    }),
  },
  /**
   * GSPO-token (https://arxiv.org/abs/2507.18071) as the training service documents it: ppo with one ratio s for the
   * whole datum, the geometric mean of the ratios of the tokens that `sequence_ratio_mask` marks. Each token carries
   * the value of s and the gradient of its own log-probability.
   */
  gspo: {
    inputs: [...POLICY_INPUTS, 'sequence_ratio_mask'],
    settings: { clip_low_threshold: 0.8, clip_high_threshold: 1.2 },
    shared: (logprobs, [sampled, , mask]) => meanLogRatio({ logprobs, sampled, mask }),
    evaluate: (_p, [, advantage], { settings, shared }) => {
      if (advantage === 0) return { loss: 0, slope: 0 };
      return clippedLoss(ratioOf(shared, 0), advantage, settings);
    },
  },
  /**
   * -min(r, 1) p A + kl_coeff (p - q)² / 2 over sampled tokens, the ratio not being differentiated.
   *
   * REINFORCE where the policy is still the one that sampled. A token that became less likely since counts as much
   * less, and none counts more than once, so that old rollouts cannot blow an update up (truncated importance
   * weights, https://arxiv.org/abs/1802.01561). The training service has not published the formula of its own.
   */
  stable_reinforce: {
    inputs: [...POLICY_INPUTS, SAMPLED_INPUT],
    settings: { kl_coeff: 0 },
    evaluate: (p, [q, advantage, isSampled], { settings: { kl_coeff: coefficient = 0 } }) => {
      if (isSampled === 0) return { loss: 0, slope: 0 };
      const factor = Math.min(1, ratioOf(p, q)) * advantage;
      return {
        loss: -factor * p + 0.5 * coefficient * (p - q) ** 2,
        slope: -factor + coefficient * (p - q),
      };
    },
  },
};

interface MarkedTokens {
  readonly logprobs: Float32Array;
  readonly sampled: Float32Array | undefined;
  readonly mask: Float32Array | undefined;
}

/** Over the tokens that the mask marks; there is one at least, see `checkData`. */
function meanLogRatio({ logprobs, sampled, mask }: MarkedTokens): number {
  let sum = 0;
  let count = 0;
  for (const [index, p] of logprobs.entries()) {
    if (mask?.[index] === 0) continue;
    sum += p - (sampled?.[index] ?? 0);
    count++;
  }
  return sum / count;
}
