import type { LossFunction } from '../datum';
import { DomainError } from '../errors';

/**
 * The policy losses of the Tinker protocol as functions of the log-probabilities, with their slopes.
 *
 * p is a target's log-probability under the weights in training, q that under the weights that drew it, A its
 * advantage and r = exp(p − q). Losses are sums over tokens, in the sign that is minimized.
 */

export type PolicyLossFunction = Exclude<LossFunction, 'cross_entropy'>;

export type PolicyLossSettings = Readonly<Record<string, number>>;

export interface PolicyLossInputs {
  readonly logprobs: ArrayLike<number>;
  readonly sampledLogprobs: ArrayLike<number>;
  readonly advantages: ArrayLike<number>;
  /**
   * Tokens at 0 count for nothing. A service knows no mask: there advantage 0 silences a token, but not in `dro`,
   * whose quadratic term also pulls prompt tokens towards q = 0.
   */
  readonly mask?: ArrayLike<number>;
}

export interface PolicyLoss {
  readonly loss: number;
  /** d loss ÷ d p, one a token. As weights of cross_entropy, −slopes give a custom loss's gradient. */
  readonly slopes: Float64Array;
}

interface Token {
  readonly p: number;
  readonly q: number;
  readonly advantage: number;
}

interface TokenLoss {
  readonly loss: number;
  readonly slope: number;
}

type TokenRule = (token: Token, settings: PolicyLossSettings) => TokenLoss;

/** exp of more would overflow the float32 gradients of the service, which bounds it the same way. */
const MAX_LOG_RATIO = 60;

const RULES: Readonly<Record<PolicyLossFunction, TokenRule>> = {
  importance_sampling: (token) => {
    const surrogate = ratioOf(token) * token.advantage;
    return { loss: -surrogate, slope: -surrogate };
  },
  ppo: (token, settings) => {
    const surrogate = ratioOf(token) * token.advantage;
    const bounded = clippedRatio(token, settings) * token.advantage;
    return surrogate <= bounded ? { loss: -surrogate, slope: -surrogate } : { loss: -bounded, slope: 0 };
  },
  cispo: (token, settings) => {
    const weight = clippedRatio(token, settings) * token.advantage;
    return { loss: -weight * token.p, slope: -weight };
  },
  dro: ({ p, q, advantage }, { beta = 0 }) => ({
    loss: (beta / 2) * (p - q) ** 2 - advantage * p,
    slope: beta * (p - q) - advantage,
  }),
};

/** Thresholds are ratios. Tinker's defaults; SkyRL has others for cispo. */
const DEFAULT_SETTINGS: Readonly<Record<PolicyLossFunction, PolicyLossSettings>> = {
  importance_sampling: {},
  ppo: { clip_low_threshold: 0.8, clip_high_threshold: 1.2 },
  cispo: { clip_low_threshold: 0, clip_high_threshold: 4 },
  dro: { beta: 0.05 },
};

/** All settings of a loss, to be sent in full because services differ in their defaults. Unknown ones are refused. */
export function policyLossSettings(
  name: PolicyLossFunction,
  chosen: PolicyLossSettings = {},
): PolicyLossSettings {
  const defaults = DEFAULT_SETTINGS[name];
  for (const [key, value] of Object.entries(chosen)) {
    if (!Object.hasOwn(defaults, key)) throw unknownSetting(name, key);
    if (!Number.isFinite(value) || value < 0) {
      throw new DomainError('bad-config', `${key} of ${name} is ${value}. Use a number of at least 0.`);
    }
  }
  const settings = { ...defaults, ...chosen };
  const { clip_low_threshold: low = 0, clip_high_threshold: high = Infinity } = settings;
  if (low <= high) return settings;
  throw new DomainError(
    'bad-config',
    `clip_low_threshold ${low} of ${name} is above clip_high_threshold ${high}. They are ratios: 0.8 and 1.2, say.`,
  );
}

/** Loss and slopes of one sequence: importance sampling, PPO (Schulman et al. 2017), CISPO (MiniMax 2025), DRO (Richemond et al. 2024). */
export function policyLoss(
  name: PolicyLossFunction,
  inputs: PolicyLossInputs,
  settings: PolicyLossSettings = policyLossSettings(name),
): PolicyLoss {
  const { logprobs, sampledLogprobs, advantages, mask } = inputs;
  requireOneLength([logprobs, sampledLogprobs, advantages, ...(mask ? [mask] : [])]);
  const slopes = new Float64Array(logprobs.length);
  let loss = 0;
  for (let index = 0; index < slopes.length; index++) {
    const token = tokenAt(inputs, index);
    // A token that does not count may have log-probability −∞, and 0 · ∞ is not a number.
    if (token.weight === 0 || (token.advantage === 0 && name !== 'dro')) continue;
    const found = RULES[name](token, settings);
    loss += token.weight * found.loss;
    slopes[index] = token.weight * found.slope;
  }
  return { loss, slopes };
}

function tokenAt(inputs: PolicyLossInputs, index: number): Token & { readonly weight: number } {
  return {
    p: inputs.logprobs[index] ?? 0,
    q: inputs.sampledLogprobs[index] ?? 0,
    advantage: inputs.advantages[index] ?? 0,
    weight: inputs.mask?.[index] ?? 1,
  };
}

function ratioOf({ p, q }: Token): number {
  return Math.exp(Math.min(MAX_LOG_RATIO, p - q));
}

function clippedRatio(token: Token, settings: PolicyLossSettings): number {
  const { clip_low_threshold: low = 0, clip_high_threshold: high = Infinity } = settings;
  return Math.max(low, Math.min(high, ratioOf(token)));
}

function unknownSetting(name: PolicyLossFunction, key: string): DomainError {
  const known = Object.keys(DEFAULT_SETTINGS[name]).join(', ') || 'none';
  return new DomainError('bad-config', `Unknown setting "${key}" of loss ${name}. Known: ${known}.`);
}

function requireOneLength(rows: readonly ArrayLike<number>[]): void {
  const lengths = new Set(rows.map((row) => row.length));
  if (lengths.size === 1) return;
  throw new DomainError(
    'protocol-error',
    `Loss inputs of one sequence have ${[...lengths].join(', ')} tokens. All need one value for each target.`,
  );
}
