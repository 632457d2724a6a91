import type { TrainReport, TrainSupervisedInput } from './contracts';
import { trainRun } from './training/train-run';
import type { TrainingState } from './training/training-state';

/**
 * Fine-tune a model on conversations, evaluating snapshots of it on the way.
 *
 * Every batch counts exactly once in the final weights, whichever process dies: steps run in segments whose
 * retries repeat the same requests, and a model that is lost is opened again from its last checkpoint.
 */
export async function trainSupervised(
  input: TrainSupervisedInput,
  carried?: TrainingState,
): Promise<TrainReport> {
  return trainRun(input, carried);
}
