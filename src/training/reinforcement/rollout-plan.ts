import type { ReinforcementConfig } from '../../config/reinforcement-config';
import type { RolloutPlan } from '../../core/training-plan';

/** Enough that an activity is worth its price, few enough that several workers share a batch. */
const GROUPS_PER_SHARD = 32;

export function rolloutPlanOf(config: ReinforcementConfig): RolloutPlan {
  const { groupsPerBatch, maxStepsOffPolicy, streamedMinibatches } = config;
  return {
    groupsPerBatch,
    groupsPerShard: GROUPS_PER_SHARD,
    maxStepsOffPolicy,
    isStreamed: streamedMinibatches > 0,
  };
}
