import type { RolloutGroup } from '../../core/reinforcement/rollout';
import { rolloutDatums } from '../../core/reinforcement/rollout-datums';
import type { Sampler } from '../../core/sampling';
import { computeLogprobs } from '../rollouts/compute-logprobs';
import type { GroupReference } from './reference-files';

/** Log-probabilities that a reference gives to what the policy wrote, for each target of a group's sequences; 0 elsewhere. */
export async function referenceLogprobs(
  sampler: Sampler,
  group: RolloutGroup,
  signal: AbortSignal,
): Promise<GroupReference> {
  const { rollouts } = await computeLogprobs(sampler, group, { signal });
  return rollouts.map((rollout) => rolloutDatums(rollout, 0).map(({ logprobs }) => [...logprobs]));
}
