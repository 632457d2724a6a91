import { CancellationScope, ContinueAsNew, isCancellation } from '@temporalio/workflow';
import { preparation } from '../activities';
import type { TrainingInput, TrainReport } from '../contracts';
import { continueFromFolder, continueIfLong } from './continue-run';
import { continuedState } from './continued-state';
import { closeCancelled, closeFailed, closeTrained, saveReached } from './close-run';
import { ControlDesk } from './control-desk';
import { EvaluationDesk } from './evaluation-desk';
import { failureCode } from './failures';
import { GateDesk } from './gate-desk';
import { answerQueries } from './queries';
import { ScoreDesk } from './score-desk';
import { trainSteps } from './train-steps';
import type { TrainingState } from './training-state';
import { initialState } from './training-state';

/** What a run begins with; its report where it is found to have ended. */
async function begin(input: TrainingInput): Promise<TrainingState | TrainReport> {
  if (input.continues) {
    const remains = await preparation.continueRun({
      run: input.run,
      ...(input.endedBefore && { endedBefore: input.endedBefore }),
    });
    if (remains.found === 'ended') return { ...remains.report, run: input.run };
    if (remains.found === 'continued') return continuedState(remains.run);
  }
  return initialState(await preparation.prepareRun(input), input.provenance.remarks);
}

function isState(begun: TrainingState | TrainReport): begun is TrainingState {
  return 'plan' in begun;
}

/**
 * A training run from its preparation to its last word; what kinds of runs differ in is in their plan.
 *
 * Stopping finishes, saves and evaluates a last step. Cancelling saves what was reached where that is quick, cancels
 * the run's evaluations and releases the model.
 */
export async function trainRun(input: TrainingInput, carried?: TrainingState): Promise<TrainReport> {
  const current = { state: carried ?? null };
  answerQueries(input.run, current);
  const controls = new ControlDesk(input, current);
  const gates = new GateDesk(input, (...change) => controls.record(...change));
  const evaluations = new EvaluationDesk(input, current, new ScoreDesk(input, gates));

  try {
    const begun = current.state ?? (await begin(input));
    if (!isState(begun)) return begun;
    current.state = begun;
    evaluations.open();
    const loop = { input, state: current.state, evaluations, controls };
    await trainSteps(loop);
    while (!(await evaluations.finish())) await continueIfLong(loop);
    await controls.close();
    const { state } = current;
    // A cancel that comes now is too late: the run has ended, and says so everywhere.
    return await CancellationScope.nonCancellable(() => closeTrained(input, state));
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    if (failureCode(error) === 'set-back') return continueFromFolder(input);
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
