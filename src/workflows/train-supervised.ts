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
    const { state } = current;
    // A cancel that comes now is too late: the run has ended, and says so everywhere.
    return await CancellationScope.nonCancellable(() => closeTrained(input, state));
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    // A worker that died while it was told to stop leaves another failure than the cancellation.
    const isCancelled = isCancellation(error) || CancellationScope.current().consideredCancelled;
    return await CancellationScope.nonCancellable(async () => {
      const { state } = current;
      if (state && isCancelled) evaluations.decline(await saveReached(state, controls.segments));
      await evaluations.abandon();
      await controls.close();
      return isCancelled ? closeCancelled(input, state) : closeFailed(input, state, error);
    });
  }
}
