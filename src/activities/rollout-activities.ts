import type {
  SampleRolloutsDependencies,
  SampleRolloutsInput,
} from '../training/reinforcement/sample-rollouts';
import { sampleRollouts } from '../training/reinforcement/sample-rollouts';
import type { SampledShard } from '../training/reinforcement/sampled-shard';
import { epochOf, withHeartbeat } from './activity-context';

/** Rollouts of reinforcement runs, for workers with the role `sampling`. */
export function createRolloutActivities(dependencies: SampleRolloutsDependencies) {
  return {
    /** Samples and journals a shard of a step's groups. A repeated attempt samples what is missing. */
    async sampleRollouts(input: SampleRolloutsInput): Promise<SampledShard> {
      return withHeartbeat(async ({ signal, attempt, progress }) => {
        let told: { readonly groupsDone?: number; readonly waiting?: string | null } = {};
        const tell = (news: typeof told) => {
          told = { ...told, ...news };
          progress(told);
        };
        const shard = await sampleRollouts(dependencies, input, {
          ...{ signal, attempt, epoch: epochOf(input.account?.write ?? 0, attempt) },
          onProgress: (groupsDone) => {
            tell({ groupsDone });
          },
          onWaiting: (waiting) => {
            tell({ waiting });
          },
        });
        return attempt === 1 ? shard : { ...shard, attempt };
      });
    },
  };
}

export type RolloutActivities = ReturnType<typeof createRolloutActivities>;
