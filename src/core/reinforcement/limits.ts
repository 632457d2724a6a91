import { smallestOf } from '../extremes';
import type { Rollout, RolloutStopReason, Transition } from './rollout';

/** Budgets of one rollout; null is none. */
export interface RolloutLimits {
  readonly maxTurns: number | null;
  /** Prompt and sampled tokens together: what the next observation holds. */
  readonly maxRolloutTokens: number | null;
  /** Sampled tokens of all turns. */
  readonly maxSampledTokens: number | null;
  readonly maxToolCalls: number | null;
  /** Sampled tokens of one turn; reaching it cuts the turn and does not end the rollout. */
  readonly maxTurnTokens: number | null;
  /** For the whole rollout; what was done by then is kept. */
  readonly timeoutSeconds: number | null;
  /** For one sampling call; a call that takes longer has failed, and so has the rollout. */
  readonly samplingTimeoutSeconds: number | null;
}

export const NO_LIMITS: RolloutLimits = {
  maxTurns: null,
  maxRolloutTokens: null,
  maxSampledTokens: null,
  maxToolCalls: null,
  maxTurnTokens: null,
  timeoutSeconds: null,
  samplingTimeoutSeconds: null,
};

/** Where a rollout stands before a turn. */
export interface RolloutProgress {
  readonly turnCount: number;
  /** Tokens of the observation that would be sampled from next. */
  readonly observationTokenCount: number;
  readonly sampledTokenCount: number;
  readonly elapsedSeconds: number;
}

export type TurnDecision =
  | {
      readonly type: 'sample';
      /** null leaves it to the sampler's own limit. */ readonly maxTokens: number | null;
    }
  | { readonly type: 'stop'; readonly reason: RolloutStopReason };

/**
 * Whether a rollout goes on, and with how many tokens at most: deadline, turns, tokens of the rollout, sampled tokens,
 * in this order. Tool calls are counted where they are made: `allowedToolCalls`.
 *
 * A loop with hooks asks the three parts itself: messages that a hook adds belong between `stopBeforeTurn` and
 * `budgetStop`, so that they count (tinker-cookbook, `run_rollout`).
 */
export function nextTurn(limits: RolloutLimits, progress: RolloutProgress): TurnDecision {
  const reason = stopBeforeTurn(limits, progress) ?? budgetStop(limits, progress);
  if (reason !== null) return { type: 'stop', reason };
  return { type: 'sample', maxTokens: turnBudget(limits, progress) };
}

export function stopBeforeTurn(
  limits: RolloutLimits,
  progress: RolloutProgress,
): 'rollout_timeout' | 'max_turns' | null {
  if (limits.timeoutSeconds !== null && progress.elapsedSeconds >= limits.timeoutSeconds)
    return 'rollout_timeout';
  if (limits.maxTurns !== null && progress.turnCount >= limits.maxTurns) return 'max_turns';
  return null;
}

export function budgetStop(
  limits: RolloutLimits,
  progress: RolloutProgress,
): 'max_tokens' | 'max_sampled_tokens' | null {
  const { rollout, sampled } = remainders(limits, progress);
  if (isExhausted(rollout)) return 'max_tokens';
  if (isExhausted(sampled)) return 'max_sampled_tokens';
  return null;
}

/**
 * The least of what the turn and the budgets leave. An exhausted budget is no bound here: it stops the rollout before,
 * unless a hook let it go on for one more turn.
 */
export function turnBudget(limits: RolloutLimits, progress: RolloutProgress): number | null {
  const { rollout, sampled } = remainders(limits, progress);
  const open = [rollout, sampled].filter((remainder) => !isExhausted(remainder));
  const bounds = [limits.maxTurnTokens, ...open].filter((bound) => bound !== null);
  return bounds.length > 0 ? smallestOf(bounds) : null;
}

function remainders(
  limits: RolloutLimits,
  progress: RolloutProgress,
): { readonly rollout: number | null; readonly sampled: number | null } {
  const { maxRolloutTokens, maxSampledTokens } = limits;
  return {
    rollout: maxRolloutTokens === null ? null : maxRolloutTokens - progress.observationTokenCount,
    sampled: maxSampledTokens === null ? null : maxSampledTokens - progress.sampledTokenCount,
  };
}

/** One token left is none: a turn of one token says nothing. `maxTurnTokens: 1` asks for exactly that and may. */
function isExhausted(remainder: number | null): boolean {
  return remainder !== null && remainder <= 1;
}

export interface ToolCallAllowance {
  /** How many of the requested calls to make, from the first on. */
  readonly callCount: number;
  /** Set where some were left out: the rollout ends after those that are made. */
  readonly stopReason: 'max_tool_calls' | null;
}

/** Using the last allowed call does not end a rollout; asking for one more does. */
export function allowedToolCalls(
  { maxToolCalls }: Pick<RolloutLimits, 'maxToolCalls'>,
  calls: { readonly madeCount: number; readonly requestedCount: number },
): ToolCallAllowance {
  const remaining = maxToolCalls === null ? Infinity : Math.max(0, maxToolCalls - calls.madeCount);
  if (calls.requestedCount <= remaining) return { callCount: calls.requestedCount, stopReason: null };
  return { callCount: remaining, stopReason: 'max_tool_calls' };
}

/** True where the next observation leaves no room for the tokens a turn reserves: the rollout ends as `context_overflow`. */
export function overflowsContext(
  { maxRolloutTokens }: Pick<RolloutLimits, 'maxRolloutTokens'>,
  next: { readonly observationTokenCount: number; readonly reservedTokenCount: number },
): boolean {
  return maxRolloutTokens !== null && next.observationTokenCount + next.reservedTokenCount > maxRolloutTokens;
}

/** Prefix of the one-hot metric of the last turn that says why the rollout ended. */
const STOP_METRIC = 'stop/';
const TRUNCATED_TURNS_METRIC = 'num_truncations_max_turn_tokens';

/**
 * A rollout of the turns taken, its last one marked as the end: `stop/<reason>`, and how many turns before it were cut
 * at their token limit. A rollout that ended before its first turn gets one without tokens, so that it counts in its
 * group and trains nothing.
 */
export function endRollout(
  transitions: readonly Transition[],
  stopReason: string | null,
  policyVersion: number,
): Rollout {
  const last = transitions.at(-1) ?? emptyTurn(policyVersion);
  const before = transitions.slice(0, -1);
  const kept = Object.entries(last.metrics).filter(([key]) => !key.startsWith(STOP_METRIC));
  const metrics: Record<string, number> = Object.fromEntries(kept);
  if (stopReason !== null) metrics[`${STOP_METRIC}${stopReason}`] = 1;
  // Turns that were cut and gone on from; the last one counts where the environment did not end with it.
  const truncated = [...before, ...(last.isDone ? [] : [last])].filter(
    (turn) => turn.stopReason === 'length',
  );
  if (truncated.length > 0) metrics[TRUNCATED_TURNS_METRIC] = truncated.length;
  return {
    transitions: [...before, { ...last, isDone: true, metrics }],
    finalReward: 0,
    metrics: {},
    stopReason,
  };
}

function emptyTurn(policyVersion: number): Transition {
  return {
    observationTokens: [],
    actionTokens: [],
    logprobs: [],
    reward: 0,
    isDone: true,
    metrics: {},
    logs: {},
    stopReason: null,
    policyVersion,
  };
}
