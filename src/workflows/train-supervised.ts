import { CancellationScope, ContinueAsNew, isCancellation } from '@temporalio/workflow';
import { preparation } from './activities';
import type { TrainReport, TrainSupervisedInput } from './contracts';
import { closeCancelled, closeFailed, closeTrained, saveReached } from './training/close-run';
import { ControlDesk } from './training/control-desk';
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
 * Stopping finishes, saves and evaluates a last step. Cancelling saves what was reached where that is quick, cancels
 * the run's evaluations and releases the model.
 */
export async function trainSupervised(
  input: TrainSupervisedInput,
  carried?: TrainingState,
): Promise<TrainReport> {
  const current = { state: carried ?? null };
  answerQueries(input.run, current);
  const controls = new ControlDesk(input, current);
  const evaluations = new EvaluationDesk(input, current);

  try {
    current.state ??= initialState(await preparation.prepareRun(input));
    evaluations.open();
    await trainSteps({ input, state: current.state, evaluations, controls });
    await evaluations.finish();
    await controls.close();
    return await closeTrained(input, current.state);
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    return await CancellationScope.nonCancellable(async () => {
      const { state } = current;
      if (state && isCancellation(error)) evaluations.decline(await saveReached(state, controls.segments));
      await evaluations.abandon();
      await controls.close();
      if (isCancellation(error)) return closeCancelled(input, state, error);
      return closeFailed(input, state, error);
    });
  }
}
