import { largestOf } from '../../core/extremes';
import type { RolloutPlan } from '../../core/training-plan';
import type { RolloutActivities } from '../../activities/rollout-activities';
import { roller } from '../activities';

type ShardInput = Parameters<RolloutActivities['sampleRollouts']>[0];
type StepToSample = Omit<ShardInput, 'firstGroup' | 'groupCount'>;

export interface SampledShards {
  /** null where all groups are journalled. */
  readonly failure: Error | null;
  /** Of the slowest. */
  readonly seconds: number;
  /** The weights that were waited for did not come. */
  readonly isInVain: boolean;
}

/** Has the groups of a step sampled, some at each worker. What one of them meets does not end the others. */
export async function sampleShards(
  { groupsPerBatch, groupsPerShard }: RolloutPlan,
  { retired = [], ...step }: StepToSample,
): Promise<SampledShards> {
  const shards: { readonly firstGroup: number; readonly groupCount: number }[] = [];
  for (let first = 0; first < groupsPerBatch; first += groupsPerShard) {
    shards.push({ firstGroup: first, groupCount: Math.min(groupsPerShard, groupsPerBatch - first) });
  }
  const outcomes = await Promise.allSettled(
    shards.map((shard, index) =>
      roller.sampleRollouts({
        ...step,
        ...shard,
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
  };
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
