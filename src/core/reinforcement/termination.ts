import { totalReward, turnRewards } from './rollout';
import type { Rollout } from './rollout';

/** How the reason a rollout ended for bears on its reward. */
export interface TerminationPolicy {
  /** Grade as always, then let no rollout that ran into a limit earn more than 0. */
  readonly zeroRewardOnLimit: boolean;
  readonly limitReasons: readonly string[];
  /** Save the grader where its reward would be taken away anyway. A negative one is lost with it. */
  readonly skipGradingOnTimeout: boolean;
  /** A grader that takes longer has failed, and so has the rollout. */
  readonly graderTimeoutSeconds: number | null;
  /** false shows the grader only what was written after the prompt. */
  readonly passAllMessagesToGrader: boolean;
}

export const DEFAULT_TERMINATION: TerminationPolicy = {
  zeroRewardOnLimit: false,
  limitReasons: ['max_tokens', 'max_sampled_tokens', 'max_turns', 'max_tool_calls', 'rollout_timeout'],
  skipGradingOnTimeout: false,
  graderTimeoutSeconds: null,
  passAllMessagesToGrader: false,
};

/**
 * The rollout with its total reward at most 0 if a limit ended it. Negative rewards stay, because running into a limit
 * must not be an escape from them (tinker-cookbook, `TerminationRewardPolicy`).
 */
export function clampRewardOnLimit(rollout: Rollout, policy: TerminationPolicy): Rollout {
  if (!policy.zeroRewardOnLimit || !isLimit(rollout.stopReason, policy)) return rollout;
  if (totalReward(rollout) <= 0) return rollout;
  return {
    ...rollout,
    finalReward: 0 - turnRewards(rollout),
    metrics: { ...rollout.metrics, zero_reward_on_limit: 1 },
  };
}

export function shouldGrade(stopReason: string | null, policy: TerminationPolicy): boolean {
  const isMoot = policy.zeroRewardOnLimit && isLimit('rollout_timeout', policy);
  return !(policy.skipGradingOnTimeout && isMoot && stopReason === 'rollout_timeout');
}

function isLimit(stopReason: string | null, { limitReasons }: TerminationPolicy): boolean {
  return stopReason !== null && limitReasons.includes(stopReason);
}
