/**
 * What a policy did in an environment: turns make a rollout, rollouts of one prompt make a group.
 *
 * Everything here is plain JSON: log-probabilities in nats, tokens as the model's ids.
 */

/** Why a rollout ended; hooks of an environment may name reasons of their own. */
export type RolloutStopReason =
  | 'completed'
  | 'tool_stopped'
  | 'max_turns'
  | 'max_tokens'
  | 'max_sampled_tokens'
  | 'max_tool_calls'
  | 'context_overflow'
  | 'parse_error'
  | 'rollout_timeout';

/** One turn: what the policy read, what it wrote, and what the environment made of it. */
export interface Transition {
  /** The whole prompt of the turn; in a conversation it begins with the turns before. */
  readonly observationTokens: readonly number[];
  readonly actionTokens: readonly number[];
  /** One for each action token, under the weights that drew it. */
  readonly logprobs: readonly number[];
  readonly reward: number;
  readonly isDone: boolean;
  /** Averaged over the turns that have the key; events are noted where they happen, and told as shares of all. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Shown, not averaged. */
  readonly logs: Readonly<Record<string, string | number>>;
  /** Why the sampler stopped writing; null in a turn that nothing was drawn for. */
  readonly stopReason: 'stop' | 'length' | null;
  /** Updates behind the weights that drew the action: 0 is the model as the run found it. */
  readonly policyVersion: number;
}

export interface Rollout {
  readonly transitions: readonly Transition[];
  /** What the group as a whole gave this rollout, on top of its turns' rewards. */
  readonly finalReward: number;
  /** Metrics that came with `finalReward`. */
  readonly metrics: Readonly<Record<string, number>>;
  /** A `RolloutStopReason` or a hook's own word. */
  readonly stopReason: string | null;
}

export interface RolloutGroup {
  readonly id: string;
  /** Names that metrics are split by. They travel with their group, so that dropping a group drops its tags. */
  readonly tags: readonly string[];
  readonly rollouts: readonly Rollout[];
}

/** A turn with this metric at 1 or more is kept in the rollout and left out of the loss. */
export const MASKED_TURN_METRIC = 'parse_error_masked';

/** Σ rewards of the turns + the group's reward. */
export function totalReward(rollout: Rollout): number {
  return turnRewards(rollout) + rollout.finalReward;
}

export function turnRewards({ transitions }: Pick<Rollout, 'transitions'>): number {
  return transitions.reduce((total, { reward }) => total + reward, 0);
}

export function groupRewards(group: RolloutGroup): number[] {
  return group.rollouts.map(totalReward);
}

/** Oldest weights that any turn of the group was drawn from; null in a group where nothing was drawn. */
export function oldestPolicyVersion(group: RolloutGroup): number | null {
  let oldest: number | null = null;
  for (const { transitions } of group.rollouts) {
    for (const { actionTokens, policyVersion } of transitions) {
      if (actionTokens.length > 0) oldest = Math.min(oldest ?? policyVersion, policyVersion);
    }
  }
  return oldest;
}
