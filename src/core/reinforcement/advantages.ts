import { DomainError } from '../errors';
import { groupRewards } from './rollout';
import type { Rollout, RolloutGroup } from './rollout';

export interface AdvantageOptions {
  /**
   * What is subtracted from a rollout's reward: the mean of its group (tinker-cookbook; GRPO, Shao et al. 2024), or the
   * mean of the *other* rollouts, which makes the gradient unbiased (RLOO, Kool et al. 2019; Ahmadian et al. 2024).
   */
  readonly baseline: 'group-mean' | 'leave-one-out';
  /**
   * Whether to divide by the group's standard deviation + epsilon, as GRPO does. It has n − 1 below the root, as in
   * verl and TRL.
   */
  readonly isScaled: boolean;
  /** Keeps rounding noise between equal rewards from becoming advantages of 1. verl has 1e-6, TRL 1e-4. */
  readonly epsilon: number;
}

export const DEFAULT_ADVANTAGES: AdvantageOptions = {
  baseline: 'group-mean',
  isScaled: false,
  epsilon: 1e-6,
};

/** A value for a whole rollout, or for each action token of each turn. */
export type RolloutAdvantage = number | readonly (readonly number[])[];

/** Advantages of every rollout of every group, in float32. */
export function advantagesOf(
  groups: readonly RolloutGroup[],
  options: AdvantageOptions = DEFAULT_ADVANTAGES,
): Float32Array[] {
  return groups.map((group) => groupAdvantages(groupRewards(group), options));
}

/**
 * Advantages of one group's total rewards. Rewards and result are float32, as in the field.
 *
 * Sums are double: those of equal float32 rewards are then exact, so that a constant group gives exact zeros.
 */
export function groupAdvantages(
  rewards: readonly number[],
  options: AdvantageOptions = DEFAULT_ADVANTAGES,
): Float32Array {
  requireFinite(rewards);
  const values = Float32Array.from(rewards);
  const count = values.length;
  if (count < 2) return new Float32Array(count);
  const mean = Math.fround(sum(values) / count);
  const centred = Array.from(values, (value) => value - mean);
  const spread = options.isScaled ? standardDeviation(centred) + options.epsilon : 1;
  // r_i − mean of the others = (r_i − mean of all) · n ÷ (n − 1)
  const factor = options.baseline === 'leave-one-out' ? count / (count - 1) : 1;
  return Float32Array.from(centred, (value) => (value * factor) / spread);
}

/** x_t + discount · x_{t+1} + discount² · x_{t+2} + … at every t. */
export function discountedFutureSums(values: ArrayLike<number>, discount: number): Float64Array {
  const sums = new Float64Array(values.length);
  let running = 0;
  for (let index = values.length - 1; index >= 0; index--) {
    running = (values[index] ?? 0) + discount * running;
    sums[index] = running;
  }
  return sums;
}

/**
 * What each action token of each turn still earns: a turn's reward falls on its last action token, the group's on the
 * last one of all, and a reward counts discount^n at the n-th action token before it. Observation tokens do not discount.
 *
 * The reward of a turn without action falls on the last action token before it.
 */
export function tokenReturns(rollout: Rollout, discount: number): number[][] {
  const returns: number[][] = [];
  let running = rollout.finalReward;
  for (const { reward, actionTokens } of rollout.transitions.toReversed()) {
    running += reward;
    const turn = actionTokens.map(() => 0);
    for (let index = turn.length - 1; index >= 0; index--) {
      turn[index] = running;
      running *= discount;
    }
    returns.push(turn);
  }
  return returns.reverse();
}

/**
 * Returns of each action token less what the group's rollouts earn from their first one on average.
 *
 * With discount 1 and rewards in the last turn only, these are the advantages of `groupAdvantages`. A rollout in which
 * nothing was written counts in the average with its total reward.
 */
export function tokenAdvantages(group: RolloutGroup, discount: number): number[][][] {
  requireFinite(groupRewards(group));
  const returns = group.rollouts.map((rollout) => tokenReturns(rollout, discount));
  const starts = groupRewards(group).map((total, index) => returns[index]?.flat()[0] ?? total);
  const baseline = sum(starts) / Math.max(1, starts.length);
  return returns.map((turns) => turns.map((turn) => turn.map((value) => value - baseline)));
}

function standardDeviation(centred: readonly number[]): number {
  return Math.sqrt(sum(centred.map((value) => value * value)) / (centred.length - 1));
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

function requireFinite(rewards: readonly number[]): void {
  const index = rewards.findIndex((reward) => !Number.isFinite(Math.fround(reward)));
  if (index < 0) return;
  throw new DomainError(
    'bad-plugin',
    `Reward of rollout ${index + 1} in its group is ${rewards[index] ?? NaN}, which would turn the weights into NaN. ` +
      'Let the environment return finite rewards.',
  );
}
