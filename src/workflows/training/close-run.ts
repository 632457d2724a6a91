import { log } from '@temporalio/workflow';
import { ApplicationFailure } from '@temporalio/common';
import { bookkeeping } from '../activities';
import type { TrainReport, TrainSupervisedInput } from '../contracts';
import { failureCode, failureMessage } from './failures';
import { publishProgress } from './search-attributes';
import type { TrainingState } from './training-state';

/** Writes the last word on a run that trained its last step, and returns it. */
export async function closeCompleted(
  input: TrainSupervisedInput,
  state: TrainingState,
): Promise<TrainReport> {
  const digest = await bookkeeping.closeRun({ ...summary(state), status: 'completed' });
  state.status = 'completed';
  publishProgress(input, state);
  return {
    run: state.plan.run,
    status: 'completed',
    step: state.position.collectedThrough,
    totalSteps: state.plan.totalSteps,
    finalWeightsDigest: digest,
  };
}

/** Releases the model of a cancelled run; the workflow then closes as cancelled. */
export async function closeCancelled(
  input: TrainSupervisedInput,
  state: TrainingState | null,
  error: unknown,
): Promise<never> {
  if (state) {
    await bookkeeping.closeRun({ ...summary(state), status: 'cancelled', reason: 'cancelled on request' });
    state.status = 'cancelled';
    publishProgress(input, state);
  }
  throw error;
}

/** Records why a run failed. A run that could not even be prepared leaves nothing half-made behind. */
export async function closeFailed(
  input: TrainSupervisedInput,
  state: TrainingState | null,
  error: unknown,
): Promise<never> {
  const reason = failureMessage(error);
  try {
    if (state) {
      await bookkeeping.closeRun({ ...summary(state), status: 'failed', reason });
      state.status = 'failed';
      publishProgress(input, state);
    } else {
      await bookkeeping.discardRun({ run: input.run });
    }
  } catch (closing) {
    log.warn('the failed run could not be closed', { run: input.run, reason: failureMessage(closing) });
  }
  throw ApplicationFailure.create({
    type: failureCode(error) ?? 'failed',
    message: reason,
    nonRetryable: true,
    ...(error instanceof Error && { cause: error }),
  });
}

function summary(state: TrainingState) {
  return {
    plan: state.plan,
    model: state.model,
    step: Math.max(0, state.position.collectedThrough),
    rewinds: state.rewinds,
    stepsReplayed: state.stepsReplayed,
  };
}
