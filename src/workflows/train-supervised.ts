import { CancellationScope, ContinueAsNew, isCancellation } from '@temporalio/workflow';
import { preparation } from './activities';
import type { TrainReport, TrainSupervisedInput } from './contracts';
import { closeCancelled, closeCompleted, closeFailed } from './training/close-run';
import { EvaluationDesk } from './training/evaluation-desk';
import { answerQueries } from './training/queries';
import { trainSteps } from './training/train-steps';
import type { TrainingState } from './training/training-state';
import { initialState } from './training/training-state';

/**
 * Fine-tune a model on conversations, evaluating snapshots of it on the way.
 *
 * Every batch counts exactly once in the final weights, whichever process dies: steps run in segments whose
 * retries repeat the same requests, and a model that is lost is opened again from its last checkpoint.
 * Cancelling stops at once, cancels its evaluations and releases the model.
 */
export async function trainSupervised(
  input: TrainSupervisedInput,
  carried?: TrainingState,
): Promise<TrainReport> {
  const current = { state: carried ?? null };
  answerQueries(input.run, current);
  const evaluations = new EvaluationDesk(input, current);

  try {
    current.state ??= initialState(await preparation.prepareRun(input));
    evaluations.open();
    await trainSteps({ input, state: current.state, evaluations });
    await evaluations.finish();
    return await closeCompleted(input, current.state);
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    return await CancellationScope.nonCancellable(async () => {
      await evaluations.abandon();
      if (isCancellation(error)) return closeCancelled(input, current.state, error);
      return closeFailed(input, current.state, error);
    });
  }
}
