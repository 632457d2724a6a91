import { condition, patched, sleep } from '@temporalio/workflow';
import type { SaveHere, SegmentResult } from '../../core/training-plan';
import { bookkeeping } from '../activities';
import { failureCode } from './failures';
import { isLong } from './long-history';
import type { OpenModel } from './open-model';
import { WAITED_FOR } from './open-model';
import { RequestedEvaluations } from './requested-evaluations';
import { publishProgress } from './search-attributes';
import { savingSegment } from './segment-input';
import type { TrainingLoop } from './training-loop';
import type { RunPause, TrainingState } from './training-state';
import { forgetEvents, isPaused, rememberEvent } from './training-state';

/** A pause longer than this lets go of the model, so that the service has room for others. */
const HOLD_SECONDS = 60;
const MAX_WAIT_SECONDS = 60;
/** More than an hour without an answer: by then the model is gone. */
const MAX_TRIES = 90;

/**
 * Does what is to be done between two steps: takes a snapshot somebody asked for, or waits while the run is paused.
 * Returns false when there was nothing and training goes on; else it is asked again.
 *
 * Nothing is in flight here. A pause lasts across executions: how long it has lasted is in the state.
 */
export async function standStill(loop: TrainingLoop, model: OpenModel): Promise<boolean> {
  const { state, input, controls } = loop;
  if (await takeAskedSnapshot(loop, model)) return true;
  await noteWhetherPaused(loop);
  const { pause } = state;
  if (!pause || !isPaused(state)) return isEndUntold(state);

  // An execution that takes over a pause keeps the session, too.
  if (state.model) await model.current();
  const now = Date.now();
  const [endsAt, letsGoAt] = [
    endOf(pause),
    state.model ? (pause.heldSince ?? now) + holdMs(pause, input.holdSeconds) : Infinity,
  ];
  if (endsAt <= now) await controls.endPause();
  else if (letsGoAt <= now) await letGo(loop, model);
  else {
    const isOver = () => state.pause !== pause || hasWork(loop) || isLong(input);
    await waitUntil(isOver, Math.min(endsAt, letsGoAt) - now);
  }
  return true;
}

/** A pause that was ended while its beginning was told: its end is told before training goes on. */
function isEndUntold({ standingSince = null }: TrainingState): boolean {
  return standingSince !== null && patched('ends-of-pauses-are-told-at-once');
}

function holdMs({ isHandOver }: RunPause, holdSeconds = HOLD_SECONDS): number {
  return isHandOver ? 0 : holdSeconds * 1000;
}

function hasWork({ state, evaluations }: TrainingLoop): boolean {
  return !isPaused(state) || new RequestedEvaluations(state).due !== null || evaluations.isBroken;
}

async function waitUntil(isOver: () => boolean, milliseconds: number): Promise<void> {
  if (milliseconds === Infinity) await condition(isOver);
  else await condition(isOver, milliseconds);
}

function endOf({ since, seconds }: RunPause): number {
  return since === null || seconds === null ? Infinity : since + seconds * 1000;
}

/** The pause begins, or is over: in the state, where it can be searched for, and in the store. */
async function noteWhetherPaused({ state, input }: TrainingLoop): Promise<void> {
  const isStill = isPaused(state);
  if (isStill && state.pause?.since === null) {
    const now = Date.now();
    state.pause = { ...state.pause, since: now, heldSince: now };
    rememberEvent(state, 'paused', state.pause.reason);
  }
  const { standingSince = null } = state;
  if (isStill === (standingSince !== null)) return;
  if (standingSince !== null) {
    rememberEvent(state, 'resumed', '');
    state.pausedMs = (state.pausedMs ?? 0) + Date.now() - standingSince;
  }
  state.standingSince = isStill ? Date.now() : null;
  publishProgress(input, state);
  await tellStore(state);
}

async function tellStore(state: TrainingState): Promise<void> {
  const events = state.unsavedEvents ?? [];
  state.segment += 1;
  await bookkeeping.noteStatus({
    run: state.plan.run,
    status: isPaused(state) ? 'paused' : 'running',
    step: Math.max(0, state.position.collectedThrough),
    events,
    segment: state.segment,
  });
  forgetEvents(state, events);
}

/** Saves the state and has the service let go of the model. Whoever resumes meanwhile finds it opened again. */
async function letGo(loop: TrainingLoop, model: OpenModel): Promise<void> {
  const { state } = loop;
  if (!state.pause?.isSaved) {
    if (!(await saveHere(loop, model, 'held'))) return;
    if (state.pause) state.pause = { ...state.pause, isSaved: true };
  }
  if (!isPaused(state)) return;
  try {
    await model.release();
    await tellStore(state);
  } catch (error) {
    if (!WAITED_FOR.includes(failureCode(error) ?? '')) throw error;
    holdAnew(loop);
  }
}

/** Of the weights as they are; true when there was one to take. */
async function takeAskedSnapshot(loop: TrainingLoop, model: OpenModel): Promise<boolean> {
  const { state, evaluations, input } = loop;
  const requests = new RequestedEvaluations(state);
  const { due } = requests;
  if (due === null) return false;
  const { step, request } = due;
  const { checkpoint } = await bookkeeping.findCheckpoint({ run: input.run, step });
  if (checkpoint?.sampler_path != null) {
    requests.take({ step, samplerPath: checkpoint.sampler_path, isCheckpoint: true }, checkpoint.lineage);
    return true;
  }
  if ((await model.current()) === null) return true;
  // Its checkpoint was gone: the step is trained again, and its snapshot taken then.
  if (state.position.collectedThrough < step) return true;
  const result = await saveHere(loop, model, `asked-${request}`);
  if (result) await evaluations.start(result.snapshots);
  holdAnew(loop);
  return true;
}

function holdAnew({ state }: TrainingLoop): void {
  if (state.pause) state.pause = { ...state.pause, heldSince: Date.now() };
}

/** Null when the model is gone or not to be had yet, or nobody can tell what it was sent. */
export async function saveHere(
  { state, controls }: TrainingLoop,
  model: OpenModel,
  what: SaveHere,
): Promise<SegmentResult | null> {
  const open = await model.current();
  if (open === null) return null;
  let input = savingSegment(state, open, what);
  for (let count = 1; count <= MAX_TRIES; count += 1) {
    const result = await controls.segments.save(state, input);
    if (result.lost !== null) {
      model.giveUp(result.lost);
      return null;
    }
    if (result.waitingFor === null) {
      state.waitingFor = null;
      return result;
    }
    state.waitingFor ??= { what: result.waitingFor, since: new Date().toISOString() };
    await sleep(Math.min(MAX_WAIT_SECONDS, 2 ** (count - 1)) * 1000);
    state.segment += 1;
    input = { ...input, segment: state.segment, isRepeat: true };
  }
  model.giveUp('The service was away for too long while the state was being saved.');
  return null;
}
