import { log } from '@temporalio/workflow';
import { nearLimits } from '../../core/controls/budget';
import { sentForBudget, usageOf, usedUpLimit } from './budget-limits';
import type { ControlDesk } from './control-desk';
import type { TrainingState } from './training-state';
import { lastStepOf, rememberEvent } from './training-state';

/** Warns where a limit is near, and has the run pause where one is reached. */
export async function watchBudget(state: TrainingState, controls: ControlDesk): Promise<void> {
  const { budget, plan } = state;
  if (!budget) return;
  for (const near of nearLimits(usageOf(state), budget)) warnOnce(state, near);
  const usedUp = usedUpLimit(state);
  const sentThrough = sentForBudget(state);
  const isPausing = state.pause != null && state.pause.step <= sentThrough;
  if (usedUp === null || isPausing || sentThrough >= lastStepOf(state)) return;
  log.warn('the budget lets no more be sent', { run: plan.run, why: usedUp });
  await controls.pauseFor(usedUp);
}

function warnOnce(state: TrainingState, near: string): void {
  const limit = near.slice(near.indexOf(' of '));
  if (state.budgetWarnings?.includes(limit)) return;
  state.budgetWarnings = [...(state.budgetWarnings ?? []), limit];
  log.warn('the budget is nearly used up', { run: state.plan.run, used: near });
  rememberEvent(state, 'budget', `nearly used up: ${near}`);
}
