import type { TrainingInput } from '../contracts';
import type { ControlDesk } from './control-desk';
import type { EvaluationDesk } from './evaluation-desk';
import type { TrainingState } from './training-state';

/** What the parts of a run's loop work on together. */
export interface TrainingLoop {
  readonly input: TrainingInput;
  readonly state: TrainingState;
  readonly evaluations: EvaluationDesk;
  readonly controls: ControlDesk;
}
