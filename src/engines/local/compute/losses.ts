import type { LossFunction } from '../../../core/datum';

/**
 * Losses as functions of one token's log-probability p, so that one backward pass serves them all.
 * Sums over tokens, as the training service defines them; q is the log-probability when the token was sampled.
 */

interface TokenLoss {
  readonly loss: number;
  /** dLoss / dp */
  readonly slope: number;
}

export interface LossDefinition {
  /** The loss inputs besides the targets, in the order `evaluate` takes them. */
  readonly inputs: readonly string[];
  /** What an input is when a datum leaves it out; without it, it is required. */
  readonly defaultInput?: number;
  readonly settings: Readonly<Record<string, number>>;
  evaluate(
    p: number,
    inputs: readonly [number, number],
    settings: Readonly<Record<string, number>>,
  ): TokenLoss;
}

/** A ratio beyond this would overflow the float32 gradients and turn the weights into NaN. */
const LARGEST_LOG_RATIO = 60;

function ratioOf(p: number, q: number): number {
  return Math.exp(Math.min(LARGEST_LOG_RATIO, p - q));
}

function clip(ratio: number, settings: Readonly<Record<string, number>>): number {
  const { clip_low_threshold: low = 0, clip_high_threshold: high = Infinity } = settings;
  return Math.min(high, Math.max(low, ratio));
}

const POLICY_INPUTS = ['logprobs', 'advantages'];

export const LOSSES: Readonly<Record<LossFunction, LossDefinition>> = {
  /** -w p */
  cross_entropy: {
    inputs: ['weights'],
    defaultInput: 1,
    settings: {},
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
    evaluate: (p, [q, advantage], settings) => {
      if (advantage === 0) return { loss: 0, slope: 0 };
      const ratio = ratioOf(p, q);
      const free = ratio * advantage;
      const clipped = clip(ratio, settings) * advantage;
      return free <= clipped ? { loss: -free, slope: -free } : { loss: -clipped, slope: 0 };
    },
  },
  /** -clip(r) p A, the ratio not being differentiated */
  cispo: {
    inputs: POLICY_INPUTS,
    settings: { clip_low_threshold: 0, clip_high_threshold: 4 },
    evaluate: (p, [q, advantage], settings) => {
      if (advantage === 0) return { loss: 0, slope: 0 };
      const factor = clip(ratioOf(p, q), settings) * advantage;
      return { loss: -factor * p, slope: -factor };
    },
  },
  /** -(p A - beta (p - q)² / 2) */
  dro: {
    inputs: POLICY_INPUTS,
    settings: { beta: 0.05 },
    evaluate: (p, [q, advantage], { beta = 0 }) => ({
      loss: -(p * advantage - 0.5 * beta * (p - q) ** 2),
      slope: beta * (p - q) - advantage,
    }),
  },
};
