import type { Budget, Usage } from '../../core/controls/budget';
import {
  exhaustedLimit,
  nearLimits,
  nextWarningAt,
  secondsAhead,
  spendingOf,
  stepsLeft,
  tokensAtMost,
} from '../../core/controls/budget';
import type { LiveBudget } from '../../core/run';
import { costOfSampling } from '../../core/sampling-cost';
import type { SegmentInput } from '../../core/training-plan';
import { spentTokens } from './rollout-state';
import type { TrainingState } from './training-state';
import { sentThroughOf } from './training-state';

/** A segment has time for a step. */
const LEAST_SECONDS = 0.5;

/** Why no more is sent, in words; null while there is something left. */
export function usedUpLimit(state: TrainingState): string | null {
  return state.budget ? exhaustedLimit(usageOf(state), state.budget) : null;
}

/** Of the position's tokens: what may be sent at most, and when people are to be warned. */
export function tokenBounds(state: TrainingState): Pick<SegmentInput, 'tokensAtMost' | 'handOverAtTokens'> {
  const { budget, tokensOfRewinds = 0, position } = state;
  const drawn = samplingDollars(state);
  const most = budget ? tokensAtMost(budget, drawn) : null;
  const warning = budget ? nextWarningAt(tokensOfRewinds + position.tokens, budget, drawn) : null;
  return {
    ...(most !== null && { tokensAtMost: most - tokensOfRewinds }),
    ...(warning !== null && { handOverAtTokens: warning - tokensOfRewinds }),
  };
}

/** The last step whose rollouts are worth drawing. */
export function affordableStep(state: TrainingState): number {
  const { budget, plan, position } = state;
  if (!budget || !plan.rollouts) return Infinity;
  return Math.max(0, position.submittedThrough) + stepsLeft(usageOf(state), budget);
}

export function secondsLeft(state: TrainingState): number {
  const limit = state.budget?.seconds ?? null;
  return limit === null ? Infinity : Math.max(LEAST_SECONDS, secondsAhead(usageOf(state).seconds, limit));
}

/** What is not spent, nor under way; null where dollars are not limited. */
export function dollarsLeft(state: TrainingState): number | null {
  const { budget } = state;
  if (!budget || budget.dollars === null || budget.dollarsPerMillionTokens === null) return null;
  const { dollars, tokensReserved } = spendingOf(usageOf(state), budget);
  const reserved = (tokensReserved / 1e6) * budget.dollarsPerMillionTokens;
  return Math.max(0, budget.dollars - (dollars ?? 0) - reserved);
}

/** Whether what is drawn for training is held to a limit in dollars: then nothing is drawn while it is not known what is left. */
export function isSamplingLimited({ budget, plan }: TrainingState): boolean {
  return plan.samplingPrices !== undefined && budget?.dollars != null;
}

function samplingDollars({ plan, rollouts }: TrainingState): number {
  return rollouts ? costOfSampling(spentTokens(rollouts), plan.samplingPrices ?? null) : 0;
}

/** The last step that is sent, or was: by what is known of this life, where that is known. */
export function sentForBudget(state: TrainingState): number {
  const { position } = state;
  return position.tokensSubmitted === undefined
    ? sentThroughOf(state)
    : Math.max(0, position.submittedThrough);
}

export function liveBudget(state: TrainingState, limits: Budget): LiveBudget {
  const usage = usageOf(state);
  return { limits, spent: spendingOf(usage, limits), warnings: nearLimits(usage, limits) };
}

/** What the run has used of what a budget can limit. */
export function usageOf(state: TrainingState): Usage {
  const { position, plan, tokensOfRewinds = 0, pausedMs = 0, standingSince = null, unaffordable } = state;
  const { tokensSubmitted } = position;
  const now = Date.now();
  const standing = standingSince === null ? 0 : now - standingSince;
  const stepsDone = Math.max(0, position.collectedThrough);
  return {
    tokens: position.tokens,
    tokensOfRewinds,
    stepsDone,
    stepsUnderWay: Math.max(0, position.submittedThrough - stepsDone),
    tokensUnderWay: tokensSubmitted === undefined ? null : tokensSubmitted - position.tokens,
    nextStepTokens: unaffordable?.step === position.submittedThrough + 1 ? unaffordable.tokens : null,
    samplingDollars: samplingDollars(state),
    isSampled: plan.rollouts !== undefined,
    isSamplingOut: state.rollouts?.isOverBudget === true,
    seconds: Math.max(0, (now - Date.parse(plan.startedAt) - pausedMs - standing) / 1000),
  };
}
