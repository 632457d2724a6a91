import type { Budget, Usage } from '../../core/controls/budget';
import { exhaustedLimit, nearLimits, spendingOf, stepsLeft } from '../../core/controls/budget';
import type { LiveBudget } from '../../core/run';
import type { TrainingState } from './training-state';
import { sentThroughOf } from './training-state';

/** A segment has time for a step. */
const LEAST_SECONDS = 0.5;

/** Why no more is sent, in words; null while there is something left. */
export function usedUpLimit(state: TrainingState): string | null {
  return state.budget ? exhaustedLimit(usageOf(state), state.budget) : null;
}

/** The last step there is a budget for. Steps under way have theirs reserved, and those that were sent once are finished. */
export function affordableStep(state: TrainingState): number {
  const { budget, position } = state;
  if (!budget) return Infinity;
  const affordable = Math.max(0, position.submittedThrough) + stepsLeft(usageOf(state), budget);
  return Math.max(affordable, sentThroughOf(state));
}

export function secondsLeft(state: TrainingState): number {
  const limit = state.budget?.seconds ?? null;
  return limit === null ? Infinity : Math.max(LEAST_SECONDS, limit - usageOf(state).seconds);
}

export function liveBudget(state: TrainingState, limits: Budget): LiveBudget {
  const usage = usageOf(state);
  return { limits, spent: spendingOf(usage, limits), warnings: nearLimits(usage, limits) };
}

/** What the run has used of what a budget can limit. */
export function usageOf(state: TrainingState): Usage {
  const { position, plan, tokensOfRewinds = 0, pausedMs = 0, standingSince = null } = state;
  const now = Date.now();
  const standing = standingSince === null ? 0 : now - standingSince;
  const stepsDone = Math.max(0, position.collectedThrough);
  return {
    tokens: position.tokens,
    tokensOfRewinds,
    stepsDone,
    stepsUnderWay: Math.max(0, position.submittedThrough - stepsDone),
    seconds: Math.max(0, (now - Date.parse(plan.startedAt) - pausedMs - standing) / 1000),
  };
}
