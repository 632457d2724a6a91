import { firstDueSeconds } from '../../core/schedules/evaluation-schedule';
import type { TimedStep } from '../../core/training-plan';
import type { TrainingState } from './training-state';
import { schedulesOf, sentThroughOf } from './training-state';

/**
 * Binds schedules by seconds that the clock says are due to the next step not yet submitted, and returns all
 * bindings that still matter. A binding stays until its step is collected, so that a repeated segment sends the same.
 */
export function bindTimedSchedules(state: TrainingState): readonly TimedStep[] {
  const { position } = state;
  state.timedSteps = state.timedSteps.filter(({ step }) => step > position.collectedThrough);
  const step = sentThroughOf(state) + 1;
  const isBound = state.timedSteps.some((bound) => bound.step === step);
  const due = isBound || step < 1 ? [] : dueByClock(state, step);
  if (due.length > 0) state.timedSteps.push({ step, schedules: due });
  return state.timedSteps;
}

function dueByClock(state: TrainingState, step: number): string[] {
  const now = new Date().getTime();
  const due: string[] = [];
  for (const { name, every, offset } of schedulesOf(state, step)) {
    if (!every || !('seconds' in every)) continue;
    const dueAt = state.timedDueAt[name] ?? now + firstDueSeconds(every, offset) * 1000;
    if (now >= dueAt) due.push(name);
    state.timedDueAt[name] = now >= dueAt ? now + every.seconds * 1000 : dueAt;
  }
  return due;
}
