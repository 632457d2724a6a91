import { groupRewards } from './rollout';
import type { RolloutGroup } from './rollout';

/** True where every total reward is exactly equal, so that centred advantages are all zero. Also of an empty group. */
export function hasConstantReward(group: RolloutGroup): boolean {
  const [first, ...others] = groupRewards(group);
  return others.every((reward) => reward === first);
}

/**
 * The groups that carry a gradient. If none does, the first one stays, so that a step always has something to send.
 *
 * tinker-cookbook, `remove_constant_reward_groups`; there the tags stay behind and name other groups afterwards.
 */
export function withoutConstantGroups(groups: readonly RolloutGroup[]): readonly RolloutGroup[] {
  const kept = groups.filter((group) => !hasConstantReward(group));
  return kept.length > 0 ? kept : groups.slice(0, 1);
}
