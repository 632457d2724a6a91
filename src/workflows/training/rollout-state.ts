import type { SampledTokens } from '../../core/sampling-cost';
import { NOTHING_SAMPLED, plusTokens } from '../../core/sampling-cost';
import type { PolicySnapshot, SampledStep } from '../../core/training-plan';

/** Where the rollouts of a run stand. */
export interface RolloutState {
  /** The rollouts of all steps up to this one are journalled. */
  sampledThrough: number;
  /** The newest weights to sample from; null until they are saved. */
  policy: PolicySnapshot | null;
  /** Snapshots to be deleted when sampling goes on. */
  retired: string[];
  /** The newest steps that were sampled, the newest last. */
  sampled?: SampledStep[];
  /** Of the samplers that wait for weights: rises when one was called off, and with every life of the model. */
  generation?: number;
  /** A sampler did not see what was passed on to it, so none waits any more. */
  isNoteUnseen?: boolean;
  /** How often weights were saved once more because they had expired. */
  saveCount: number;
  /** How often in a row the weights were gone before a step was sampled from them. */
  goneCount?: number;
  /** What the step that is sampled, or was last, drew so far, by the first group of each shard. */
  spent?: { readonly step: number; readonly shards: Readonly<Record<number, SampledTokens>> };
  /** What the steps before it drew. */
  spentBefore?: SampledTokens;
  /** How often accounts were opened. */
  accountWrites?: number;
  /** Rollouts were asked for that would cost more than is left. */
  isOverBudget?: boolean;
}

export function firstRolloutState(): RolloutState {
  return { sampledThrough: 0, policy: null, retired: [], saveCount: 0 };
}

/** By all samplers of the run that have told. */
export function spentTokens({ spent, spentBefore = NOTHING_SAMPLED }: RolloutState): SampledTokens {
  return Object.values(spent?.shards ?? {}).reduce(plusTokens, spentBefore);
}

/** Whether something is or will be sampled from these weights. */
export function isPolicyInUse(
  { rollouts, samplingFrom }: { readonly rollouts?: RolloutState; readonly samplingFrom?: string },
  samplerPath: string,
): boolean {
  return rollouts?.policy?.samplerPath === samplerPath || samplingFrom === samplerPath;
}
