import { changesFrom } from '../../core/controls/changes-by-step';
import { segmentLength, segmentSeconds } from '../../core/schedules/segment-length';
import type { ModelIncarnation, SaveHere, SegmentInput } from '../../core/training-plan';
import { affordableStep, secondsLeft, tokenBounds } from './budget-limits';
import { RequestedEvaluations } from './requested-evaluations';
import { bindTimedSchedules } from './timed-schedules';
import type { TrainingState } from './training-state';
import { lastStepOf } from './training-state';

const SAVE_SECONDS = 600;

/** The next steps, up to the end of the run or a pause somebody asked for. */
export function nextSegment(
  state: TrainingState,
  model: ModelIncarnation,
  readyThrough: number,
): SegmentInput {
  const { position, pause } = state;
  const seconds = segmentSeconds(mayBeLong(state) ? state.stepsPerSecond : null);
  const steps = segmentLength(state.stepsPerSecond, seconds);
  const last = Math.min(lastStepOf(state), pause?.step ?? Infinity, affordableStep(state));
  const end = Math.min(last, readyThrough);
  return {
    ...segmentOf(state, model),
    ...passing(state, last),
    throughStep: Math.min(end, position.collectedThrough + steps),
    maxSeconds: Math.min(seconds, secondsLeft(state)),
    timedSteps: bindTimedSchedules(state),
    ...tokenBounds(state),
  };
}

/** Rollouts are waited for by the run, which shows it, and schedules by seconds are bound to steps between segments. */
function mayBeLong({ rollouts, timedDueAt }: TrainingState): boolean {
  return !rollouts && Object.keys(timedDueAt).length === 0;
}

/** The weights before the last step are the last that are sampled from. */
function passing({ plan, rollouts }: TrainingState, last: number): Pick<SegmentInput, 'passing'> {
  if (!rollouts || !plan.rollouts || plan.rollouts.maxStepsOffPolicy > 0) return {};
  return { passing: { generation: rollouts.generation ?? 0, throughStep: last - 1 } };
}

/** No steps: saves what a run has that stands still. */
export function savingSegment(
  state: TrainingState,
  model: ModelIncarnation,
  saveHere: SaveHere,
): SegmentInput {
  return {
    ...segmentOf(state, model),
    throughStep: state.position.collectedThrough,
    maxSeconds: SAVE_SECONDS,
    timedSteps: state.timedSteps,
    saveHere,
  };
}

/** What people changed, as far as steps that are not collected have to know. */
export function changesOf(
  state: TrainingState,
): Pick<SegmentInput, 'rates' | 'scheduleChanges' | 'snapshotAt' | 'events'> {
  const { rates, scheduleChanges, unsavedEvents = [], position } = state;
  const first = position.collectedThrough + 1;
  const snapshotAt = new RequestedEvaluations(state).steps();
  return {
    ...(rates && { rates: changesFrom(rates, first) }),
    ...(scheduleChanges && { scheduleChanges: changesFrom(scheduleChanges, first) }),
    ...(snapshotAt.length > 0 && { snapshotAt }),
    ...(unsavedEvents.length > 0 && { events: unsavedEvents }),
  };
}

function segmentOf(state: TrainingState, model: ModelIncarnation) {
  const { plan, position, stop } = state;
  state.segment += 1;
  return {
    plan,
    model,
    position,
    segment: state.segment,
    evaluatedThrough: state.evaluatedThrough,
    ...changesOf(state),
    ...(stop && { stopAt: stop.step }),
    ...(state.rollouts?.sampled && { sampled: state.rollouts.sampled }),
    ...(state.rollouts && { sampledThrough: state.rollouts.sampledThrough }),
  };
}
