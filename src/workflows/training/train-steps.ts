import { sleep } from '@temporalio/workflow';
import type { SegmentInput, SegmentResult } from '../../core/training-plan';
import { watchBudget } from './budget-watch';
import { continueIfLong } from './continue-run';
import { isLong } from './long-history';
import { standStill } from './stand-still';
import { OpenModel } from './open-model';
import { RolloutDesk } from './rollout-desk';
import { publishProgress } from './search-attributes';
import { nextSegment } from './segment-input';
import type { TrainingLoop } from './training-loop';
import { isPaused, lastStepOf, rememberOnce } from './training-state';

const MAX_WAIT_SECONDS = 15;

/**
 * Runs the remaining steps, segment by segment.
 *
 * A segment that ends because the service does not answer is waited out; one that ends because the model is
 * gone rewinds to the last checkpoint. Returns when the last step, or the one it was asked to stop at, is collected.
 */
export async function trainSteps(loop: TrainingLoop): Promise<void> {
  const { state, evaluations, controls, input } = loop;
  const model = new OpenModel(state, input);
  const rollouts = openRollouts(loop, model);
  let waits = 0;

  if (evaluations.isHoldingTraining) await evaluations.waitForBlocking();
  while (state.position.collectedThrough < lastStepOf(state)) {
    evaluations.throwIfBroken();
    if (rollouts && isLong(input)) await rollouts.drain();
    await continueIfLong(loop);
    await watchBudget(state, controls);
    const segment = await whatIsNext(loop, model, rollouts);
    if (segment === null) continue;
    const result = await controls.segments.run(state, segment);
    rollouts?.take(result, segment);
    await settle(loop, model, result);
    waits = result.waitingFor ? waits + 1 : 0;
    if (waits > 0) await sleep(Math.min(MAX_WAIT_SECONDS, 2 ** (waits - 1)) * 1000);
  }
  rollouts?.stop();
  model.stopKeepingSession();
}

function openRollouts(loop: TrainingLoop, model: OpenModel): RolloutDesk | null {
  const { rollouts } = loop.state.plan;
  return rollouts ? new RolloutDesk(loop, model, rollouts) : null;
}

/** The next segment; null when something else was to be done first and the run may stand elsewhere now. */
async function whatIsNext(
  loop: TrainingLoop,
  model: OpenModel,
  rollouts: RolloutDesk | null,
): Promise<SegmentInput | null> {
  const { state } = loop;
  if (await standStill(loop, model)) return null;
  const open = await model.current();
  if (open === null || isPaused(state)) return null;
  const readyThrough = rollouts ? await rollouts.ready() : Infinity;
  if (readyThrough === null || state.model !== open) return null;
  return nextSegment(state, open, readyThrough);
}

/** What follows from a segment: progress is shown, snapshots are evaluated, a lost model is opened again. */
async function settle(
  { state, evaluations, input }: TrainingLoop,
  model: OpenModel,
  { snapshots, lost, position, remark }: SegmentResult,
): Promise<void> {
  if (remark !== undefined) rememberOnce(state, [remark], position.collectedThrough);
  publishProgress(input, state);
  await evaluations.start(snapshots);
  if (lost !== null) await model.rewind(lost);
  await evaluations.waitForBlocking();
}
