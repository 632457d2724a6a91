import type { SampledTokens } from '../../core/sampling-cost';

export interface SampledShard {
  /** Groups of which no rollout is used. */
  readonly skippedGroupCount: number;
  /** From the moment the weights were there. */
  readonly seconds: number;
  /** The weights it waited for did not come; nothing was sampled. */
  readonly isInVain?: boolean;
  /** What all attempts at it drew, also for groups that are not trained on. */
  readonly spent?: SampledTokens;
  /** The next request would not have fit what it may cost; groups that were done stay. */
  readonly isOverBudget?: boolean;
  /** What a person should know of how it was rewarded; absent where there is nothing. */
  readonly remark?: string;
  /** How many it took, where the first had no end. */
  readonly attempt?: number;
}
