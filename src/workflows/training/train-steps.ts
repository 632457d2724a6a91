import { allHandlersFinished, condition, continueAsNew, sleep, workflowInfo } from '@temporalio/workflow';
import { segmentLength } from '../../core/schedules/segment-length';
import type { ModelIncarnation, SegmentInput } from '../../core/training-plan';
import type { TrainReport, TrainSupervisedInput } from '../contracts';
import type { ControlDesk } from './control-desk';
import type { EvaluationDesk } from './evaluation-desk';
import { OpenModel } from './open-model';
import { publishProgress } from './search-attributes';
import { bindTimedSchedules } from './timed-schedules';
import type { TrainingState } from './training-state';
import { lastStepOf } from './training-state';

export interface TrainingLoop {
  readonly input: TrainSupervisedInput;
  readonly state: TrainingState;
  readonly evaluations: EvaluationDesk;
  readonly controls: ControlDesk;
}

/** Every training workflow takes what an earlier execution carried as its second argument. */
type TrainingWorkflow = (input: TrainSupervisedInput, carried: TrainingState) => Promise<TrainReport>;

/** Long enough to cost no history, short enough that controls and evaluations do not wait. */
const SEGMENT_SECONDS = 4;
/** Few enough that a new worker is up to date within a second. */
const MAX_EVENTS = 2000;
const MAX_WAIT_SECONDS = 15;

/**
 * Runs the remaining steps, segment by segment.
 *
 * A segment that ends because the service does not answer is waited out; one that ends because the model is
 * gone rewinds to the last checkpoint. Returns when the last step, or the one it was asked to stop at, is collected.
 */
export async function trainSteps(loop: TrainingLoop): Promise<void> {
  const { state, evaluations, controls, input } = loop;
  const model = new OpenModel(state);
  let waits = 0;

  while (state.position.collectedThrough < lastStepOf(state)) {
    evaluations.throwIfBroken();
    await continueIfLong(loop);
    const open = await model.current();
    const result = await controls.segments.run(state, nextSegment(state, open));
    publishProgress(input, state);
    await evaluations.start(result.snapshots);
    if (result.lost !== null) await model.rewind(result.lost);
    await evaluations.waitForBlocking();
    waits = result.waitingFor ? waits + 1 : 0;
    if (waits > 0) await sleep(Math.min(MAX_WAIT_SECONDS, 2 ** (waits - 1)) * 1000);
  }
  model.stopKeepingSession();
}

function nextSegment(state: TrainingState, model: ModelIncarnation): SegmentInput {
  const { plan, position } = state;
  state.segment += 1;
  const steps = segmentLength(state.stepsPerSecond, SEGMENT_SECONDS);
  return {
    plan,
    model,
    position,
    segment: state.segment,
    throughStep: Math.min(lastStepOf(state), position.collectedThrough + steps),
    maxSeconds: SEGMENT_SECONDS,
    timedSteps: bindTimedSchedules(state),
    evaluatedThrough: state.evaluatedThrough,
    ...(state.stop && { stopAt: state.stop.step }),
  };
}

async function continueIfLong({ state, input, evaluations }: TrainingLoop): Promise<void> {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  if (!continueAsNewSuggested && historyLength < (input.maxHistoryEvents ?? MAX_EVENTS)) return;
  await evaluations.settle();
  await condition(allHandlersFinished);
  // The diff is in the run's folder by now and need not travel again.
  const provenance = { ...input.provenance, codeDiff: null };
  await continueAsNew<TrainingWorkflow>({ ...input, provenance }, state);
}
