import type { Sampler } from '../../core/sampling';
import type { AskJudges } from '../environments/environment-dataset';

/** How a group is played that models judge. */
export interface JudgedPlay {
  readonly askJudges: AskJudges;
  /** Draws what is not drawn yet. */
  samplerOver(sampler: Sampler, policyVersion: number): Sampler;
  /** Called when the group is whole, before its file is written. */
  settle(): Promise<void>;
  /** Called when its file is there. */
  discard(): Promise<void>;
}
