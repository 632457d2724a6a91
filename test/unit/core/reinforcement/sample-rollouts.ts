import type { Rollout, RolloutGroup, Transition } from '../../../../src/core/reinforcement/rollout';

/** Rollouts as short as a test can read. */

export function turn(
  observationTokens: readonly number[],
  actionTokens: readonly number[],
  changes: Partial<Transition> = {},
): Transition {
  return {
    observationTokens,
    actionTokens,
    logprobs: actionTokens.map((_, index) => -(index + 1) / 4),
    reward: 0,
    isDone: false,
    metrics: {},
    logs: {},
    stopReason: 'stop',
    policyVersion: 0,
    ...changes,
  };
}

export function rollout(transitions: readonly Transition[], changes: Partial<Rollout> = {}): Rollout {
  return { transitions, finalReward: 0, metrics: {}, stopReason: 'completed', ...changes };
}

/** One turn each, that earns the reward. */
export function groupOf(rewards: readonly number[], changes: Partial<RolloutGroup> = {}): RolloutGroup {
  return {
    id: 'g',
    tags: [],
    rollouts: rewards.map((reward) => rollout([turn([1, 2], [3], { reward })])),
    ...changes,
  };
}

/** Equal up to float32 rounding of values around 1. */
export function expectEach(found: ArrayLike<number>, expected: ArrayLike<number>): void {
  expect(found).toHaveLength(expected.length);
  Array.from(expected).forEach((value, index) => {
    expect(found[index]).toBeCloseTo(value, 6);
  });
}
