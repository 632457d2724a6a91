import { largestOf } from '../../core/extremes';
import type { SampledTokens } from '../../core/sampling-cost';
import type { RolloutPlan } from '../../core/training-plan';
import type { RolloutActivities } from '../../activities/rollout-activities';
import { roller } from '../activities';

type ShardInput = Parameters<RolloutActivities['sampleRollouts']>[0];
type StepToSample = Omit<ShardInput, 'firstGroup' | 'groupCount' | 'account'> & {
  readonly accountOf?: (shard: Shard) => Pick<ShardInput, 'account'>;
};

export interface Shard {
  readonly firstGroup: number;
  readonly groupCount: number;
}

export interface SampledShards {
  /** null where all groups are journalled. */
  readonly failure: Error | null;
  /** Of the slowest. */
  readonly seconds: number;
  /** The weights that were waited for did not come. */
  readonly isInVain: boolean;
  /** A shard would have cost more than it may. */
  readonly isOverBudget: boolean;
  /** By the first group of each shard that tells. */
  readonly spent: Readonly<Record<number, SampledTokens>>;
  /** The most that one of them took. */
  readonly attempt: number;
  /** What a person should know of how they were rewarded. */
  readonly remarks: readonly string[];
}

/** Has the groups of a step sampled, some at each worker. What one of them meets does not end the others. */
export async function sampleShards(
  { groupsPerBatch, groupsPerShard }: RolloutPlan,
  { retired = [], accountOf, ...step }: StepToSample,
): Promise<SampledShards> {
  const shards: Shard[] = [];
  for (let first = 0; first < groupsPerBatch; first += groupsPerShard) {
    shards.push({ firstGroup: first, groupCount: Math.min(groupsPerShard, groupsPerBatch - first) });
  }
  const outcomes = await Promise.allSettled(
    shards.map((shard, index) =>
      roller.sampleRollouts({
        ...step,
        ...shard,
        ...accountOf?.(shard),
        ...(index === 0 && retired.length > 0 && { retired }),
      }),
    ),
  );
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  const done = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  return {
    failure: failed ? asError(failed.reason) : null,
    seconds: Math.max(0, largestOf(done.map(({ seconds }) => seconds))),
    isInVain: done.some(({ isInVain }) => isInVain),
    isOverBudget: done.some(({ isOverBudget }) => isOverBudget),
    remarks: [...new Set(done.flatMap(({ remark = [] }) => remark))],
    attempt: Math.max(1, largestOf(done.map(({ attempt = 1 }) => attempt))),
    spent: Object.fromEntries(
      outcomes.flatMap((outcome, index) => {
        const shard = shards[index];
        const spent = outcome.status === 'fulfilled' ? outcome.value.spent : undefined;
        return shard && spent ? [[shard.firstGroup, spent]] : [];
      }),
    ),
  };
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
