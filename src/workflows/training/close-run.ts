import { log } from '@temporalio/workflow';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { Snapshot } from '../../core/training-plan';
import { bookkeeping, closer } from '../activities';
import type { TrainReport, TrainingInput } from '../contracts';
import { failureCode, failureMessage } from './failures';
import { changesOf } from './segment-input';
import { publishProgress } from './search-attributes';
import type { TrainingState } from './training-state';

const SAVE_SECONDS = 10;

/** Writes the last word on a run that trained its last step, or was stopped before it, and returns it. */
export async function closeTrained(input: TrainingInput, state: TrainingState): Promise<TrainReport> {
  const { stop, plan } = state;
  const isStopped = stop != null && stop.step < plan.totalSteps;
  const status = isStopped ? 'stopped' : 'completed';
  const digest = await bookkeeping.closeRun({
    ...summary(state),
    status,
    ...(isStopped && { reason: stop.reason || 'on request' }),
  });
  state.status = status;
  publishProgress(input, state);
  return {
    run: plan.run,
    status,
    step: state.position.collectedThrough,
    totalSteps: plan.totalSteps,
    finalWeightsDigest: digest,
  };
}

/** Releases the model of a cancelled run; the workflow then closes as cancelled. One that was still prepared leaves nothing. */
export async function closeCancelled(input: TrainingInput, state: TrainingState | null): Promise<never> {
  if (state) {
    const reason = state.cancelReason || 'cancelled on request';
    await bookkeeping.closeRun({ ...summary(state), status: 'cancelled', reason });
    state.status = 'cancelled';
    publishProgress(input, state);
  } else {
    await bookkeeping.discardRun(unprepared(input));
  }
  throw new CancelledFailure('cancelled on request');
}

/**
 * Collects what a cancelled run has in flight and saves where it stands, if that takes no longer than a few seconds.
 * Nothing is saved when nobody knows how far it got. Returns the snapshots that came with it.
 */
export async function saveReached(
  state: TrainingState,
  { isPositionKnown }: { readonly isPositionKnown: boolean },
): Promise<readonly Snapshot[]> {
  const { plan, model, position, stop } = state;
  state.status = 'waiting';
  state.waitingFor = { what: 'its end: it is being cancelled', since: new Date().toISOString() };
  if (!model || !isPositionKnown || position.collectedThrough < 0) return [];
  state.segment += 1;
  try {
    const result = await closer.runSegment({
      ...{ plan, model, position, segment: state.segment },
      throughStep: position.submittedThrough,
      maxSeconds: SAVE_SECONDS,
      timedSteps: state.timedSteps,
      evaluatedThrough: state.evaluatedThrough,
      ...changesOf(state),
      ...(stop && { stopAt: stop.step }),
      savesAtEnd: true,
    });
    state.position = result.position;
    return result.snapshots;
  } catch (error) {
    log.warn('the state reached was not saved', { run: plan.run, reason: failureMessage(error) });
    return [];
  }
}

/** Records why a run failed. A run that could not even be prepared leaves nothing half-made behind; one that was to be continued stays as it is. */
export async function closeFailed(
  input: TrainingInput,
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
      await bookkeeping.discardRun(unprepared(input));
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

/** What was never made ready; the folder of a run that is continued is not this workflow's to remove. */
function unprepared({ run, continues }: TrainingInput) {
  return { run, ...(continues && { continues }) };
}

function summary(state: TrainingState) {
  return {
    plan: state.plan,
    model: state.model,
    lives: [...(state.lives ?? []), ...(state.model ? [state.model.modelId] : [])],
    step: Math.max(0, state.position.collectedThrough),
    rewinds: state.rewinds,
    stepsReplayed: state.stepsReplayed,
    ...(state.remarks && { remarks: state.remarks }),
    ...(state.unsavedEvents && { events: state.unsavedEvents }),
    segment: state.segment + 1,
  };
}
