import type { RolloutActivities } from '../../activities/rollout-activities';
import { costOfSampling, NOTHING_SAMPLED } from '../../core/sampling-cost';
import { dollarsLeft } from './budget-limits';
import type { SampledShards, Shard } from './sample-shards';
import type { RolloutState } from './rollout-state';
import { spentTokens } from './rollout-state';
import type { TrainingState } from './training-state';

type Account = Pick<Parameters<RolloutActivities['sampleRollouts']>[0], 'account'>;

/**
 * What the shards of a step may cost: what is left, by their groups. A worker reserves for each request what it may draw at most,
 * and journals it, so that a kill forgets nothing.
 */
export function accountsOf(state: TrainingState, rollouts: RolloutState, step: number) {
  const { samplingPrices: prices, rollouts: plan } = state.plan;
  if (!prices || !plan) return {};
  const isBegun = rollouts.spent?.step === step;
  if (!isBegun) rollouts.spentBefore = spentTokens(rollouts);
  const spent = isBegun && rollouts.spent ? rollouts.spent : { step, shards: {} };
  rollouts.spent = spent;
  rollouts.accountWrites = (rollouts.accountWrites ?? 0) + 1;
  const write = rollouts.accountWrites;
  const left = dollarsLeft(state);
  return {
    accountOf: ({ firstGroup, groupCount }: Shard): Account => {
      const before = costOfSampling(spent.shards[firstGroup] ?? NOTHING_SAMPLED, prices);
      const dollars = left === null ? null : before + (left * groupCount) / plan.groupsPerBatch;
      return { account: { prices, dollars, write } };
    },
  };
}

/** Returns whether more was drawn than was known. */
export function noteSpent(rollouts: RolloutState, { spent }: Pick<SampledShards, 'spent'>): boolean {
  const before = spentTokens(rollouts);
  if (rollouts.spent) rollouts.spent = { ...rollouts.spent, shards: { ...rollouts.spent.shards, ...spent } };
  const after = spentTokens(rollouts);
  return after.prompt + after.sampled > before.prompt + before.sampled;
}
