import type { ControlRequest } from '../controls';
import { fieldsOf, isPositive, refused, requireControlRequest } from '../controls';
import { smallestOf } from '../extremes';

/** What a run may use. Null where there is no limit. */
export interface Budget {
  /** Tokens trained on, those trained again after a rewind among them. */
  readonly tokens: number | null;
  /** Wall time in which the run was not paused. */
  readonly seconds: number | null;
  readonly dollars: number | null;
  /** What the service asks; null where nobody said. */
  readonly dollarsPerMillionTokens: number | null;
}

/** New limits; what is left out stays, null takes a limit away. */
export interface BudgetRequest extends ControlRequest {
  readonly limits: { readonly [Limit in keyof Budget]?: Budget[Limit] | undefined };
}

/** What a run has used, and what steps under way are expected to add. */
export interface Spending {
  readonly tokens: number;
  readonly seconds: number;
  /** Null where no price is known. */
  readonly dollars: number | null;
  /** Tokens of steps trained again after rewinds; part of `tokens`. */
  readonly tokensOfRewinds: number;
  readonly dollarsOfRewinds: number | null;
  /** Tokens of steps under way. */
  readonly tokensReserved: number;
}

export const NO_BUDGET: Budget = {
  tokens: null,
  seconds: null,
  dollars: null,
  dollarsPerMillionTokens: null,
};

/** From this part of a limit on people are warned. */
const WARNING_SHARE = 0.8;

const LIMITS = ['tokens', 'seconds', 'dollars', 'dollarsPerMillionTokens'] as const;
const MAX_LIMIT = 1e15;
/** More are not in a number. */
const MAX_DIGITS = 17;

export function requireBudgetRequest(request: unknown): void {
  requireControlRequest(request);
  const entries = Object.entries(fieldsOf(fieldsOf(request)['limits']));
  if (entries.length === 0) throw refused(`"limits" has to name one of ${LIMITS.join(', ')}.`);
  for (const [name, limit] of entries) {
    if (!LIMITS.some((known) => known === name)) {
      throw refused(`Unknown limit "${name}". Known: ${LIMITS.join(', ')}.`);
    }
    if (limit !== null && !isPositive(limit, MAX_LIMIT)) {
      throw refused(`"${name}" has to be a number above 0, or null for none.`);
    }
  }
}

/** `isFree`: the engine costs nothing, so that a limit in dollars needs no price and is never reached. */
export function resolveBudget({ limits }: BudgetRequest, from: Budget, isFree = false): Budget {
  const chosen = <Value>(given: Value | undefined, before: Value) => (given === undefined ? before : given);
  const to: Budget = {
    tokens: chosen(limits.tokens, from.tokens),
    seconds: chosen(limits.seconds, from.seconds),
    dollars: chosen(limits.dollars, from.dollars),
    dollarsPerMillionTokens: chosen(limits.dollarsPerMillionTokens, from.dollarsPerMillionTokens),
  };
  if (to.dollars !== null && to.dollarsPerMillionTokens === null) {
    if (isFree) return { ...to, dollarsPerMillionTokens: 0 };
    throw refused('A limit in dollars needs a price: give "dollarsPerMillionTokens", too.');
  }
  return to;
}

export interface Usage {
  readonly tokens: number;
  readonly tokensOfRewinds: number;
  readonly stepsDone: number;
  readonly stepsUnderWay: number;
  readonly seconds: number;
  /** Tokens of the steps under way; null in histories from before it was kept, where they are as many as steps had so far. */
  readonly tokensUnderWay?: number | null;
  /** What the next step would take; null until it was asked for and did not fit. */
  readonly nextStepTokens?: number | null;
  /** Its rollouts are not drawn where steps as they were so far would not fit: what is drawn tells exactly, and costs. */
  readonly isSampled?: boolean;
  /** Of prompts and what was drawn for training, where their prices are known apart. */
  readonly samplingDollars?: number;
  /** The next rollouts were asked for and did not fit. */
  readonly isSamplingOut?: boolean;
}

export function spendingOf(usage: Usage, { dollarsPerMillionTokens: price }: Budget): Spending {
  const tokens = usage.tokens + usage.tokensOfRewinds;
  const costOf = (count: number) => (price === null ? null : (count / 1e6) * price);
  return {
    tokens,
    seconds: usage.seconds,
    dollars: price === null ? null : (costOf(tokens) ?? 0) + (usage.samplingDollars ?? 0),
    tokensOfRewinds: usage.tokensOfRewinds,
    dollarsOfRewinds: costOf(usage.tokensOfRewinds),
    tokensReserved: usage.tokensUnderWay ?? Math.round(tokensPerStep(usage) * usage.stepsUnderWay),
  };
}

/** Tokens that a run may come to, those of rewinds among them; null where nothing limits them. */
export function tokensAtMost(budget: Budget, samplingDollars = 0): number | null {
  const limit = tokenLimit(budget, samplingDollars);
  return limit === Infinity ? null : limit;
}

/** The number of tokens at which people are warned next; null where none is ahead. */
export function nextWarningAt(spentTokens: number, budget: Budget, samplingDollars = 0): number | null {
  const { tokens, dollars } = budget;
  const atShare = {
    ...budget,
    tokens: tokens === null ? null : tokens * WARNING_SHARE,
    dollars: dollars === null ? null : dollars * WARNING_SHARE,
  };
  const ahead = [atShare.tokens, affordableTokens(atShare, samplingDollars)].filter(
    (warning): warning is number => warning !== null && warning !== Infinity && warning > spentTokens,
  );
  return ahead.length === 0 ? null : smallestOf(ahead);
}

/** Seconds of running until people are warned, or the limit is reached. */
export function secondsAhead(seconds: number, limit: number): number {
  const warning = limit * WARNING_SHARE;
  return (seconds < warning ? warning : limit) - seconds;
}

/** Whether the next step is known not to fit. Until it is known, it is asked for: none is sent that does not fit. */
function isNextOut(usage: Usage, budget: Budget): boolean {
  const { tokensUnderWay = null, nextStepTokens = null } = usage;
  const isGuessed = usage.isSampled === true && nextStepTokens === null;
  if (tokensUnderWay === null || isGuessed) return stepsLeft(usage, budget) === 0;
  const limit = tokenLimit(budget, usage.samplingDollars);
  if (limit === null || nextStepTokens === null) return false;
  const { tokens, tokensReserved } = spendingOf(usage, budget);
  return tokens + tokensReserved + nextStepTokens > limit;
}

/** By the mean of the steps so far: before rollouts are drawn, and in histories from before the tokens of steps were known. */
export function stepsLeft(usage: Usage, budget: Budget): number {
  const limit = tokenLimit(budget);
  const perStep = tokensPerStep(usage);
  if (limit === null || limit === Infinity) return Infinity;
  // The first one tells what a step takes.
  if (perStep === 0) return usage.stepsUnderWay > 0 ? 0 : 1;
  const { tokens, tokensReserved } = spendingOf(usage, budget);
  return Math.max(0, Math.floor((limit - tokens - tokensReserved) / perStep));
}

/** Why no more is sent, in words; null while there is something left. */
export function exhaustedLimit(usage: Usage, budget: Budget): string | null {
  const { seconds } = spendingOf(usage, budget);
  if (budget.seconds !== null && seconds >= budget.seconds) {
    return wordsFor(true, `${Math.round(seconds)} of ${budget.seconds} seconds`);
  }
  const isOut = usage.isSamplingOut === true || isNextOut(usage, budget);
  return exhaustedTokens(usage, budget, isOut) ?? exhaustedDollars(usage, budget, isOut);
}

function exhaustedTokens(usage: Usage, budget: Budget, isOut: boolean): string | null {
  if (budget.tokens === null) return null;
  const { tokens, tokensReserved } = spendingOf(usage, budget);
  const isReached = tokens >= budget.tokens;
  if (!isReached && !(isOut && isTighter(usage, budget))) return null;
  // What is under way will be used: without it, there would seem to be room for the next step.
  const taken = isReached ? tokens : tokens + Math.round(tokensReserved);
  return wordsFor(isReached, `${taken} of ${budget.tokens} tokens`);
}

function exhaustedDollars(usage: Usage, budget: Budget, isOut: boolean): string | null {
  if (budget.dollars === null) return null;
  const spent = spendingOf(usage, budget).dollars ?? 0;
  const isReached = spent >= budget.dollars;
  if (!isReached && !isOut) return null;
  return wordsFor(isReached, dollarsOf(spent, budget.dollars));
}

function wordsFor(isReached: boolean, used: string): string {
  return isReached
    ? `the budget is used up: ${used}`
    : `the next step would not fit the budget: ${used} used`;
}

/** Cents, and of small amounts the first digits; as many more as tell what is spent from its limit. */
export function dollarsOf(spent: number, limit: number): string {
  const isSame = (text: string) => Number(text) === limit && spent !== limit;
  const short = spent < 1 ? String(Number(spent.toPrecision(3))) : spent.toFixed(2);
  let shown = short;
  for (let digits = 4; isSame(shown) && digits <= MAX_DIGITS; digits += 1) {
    shown = String(Number(spent.toPrecision(digits)));
  }
  return `$${shown} of $${limit}`;
}

/** Limits of which four fifths are used, in words. */
export function nearLimits(usage: Usage, budget: Budget): string[] {
  const { tokens, seconds, dollars } = spendingOf(usage, budget);
  const isNear = (spent: number | null, limit: number | null) =>
    spent !== null && limit !== null && spent >= limit * WARNING_SHARE;
  return [
    ...(isNear(tokens, budget.tokens) ? [`${tokens} of ${budget.tokens ?? 0} tokens`] : []),
    ...(isNear(seconds, budget.seconds) ? [`${Math.round(seconds)} of ${budget.seconds ?? 0} seconds`] : []),
    ...(isNear(dollars, budget.dollars) ? [dollarsOf(dollars ?? 0, budget.dollars ?? 0)] : []),
  ];
}

function isTighter({ samplingDollars, isSamplingOut }: Usage, budget: Budget): boolean {
  return isSamplingOut !== true && budget.tokens === tokenLimit(budget, samplingDollars);
}

/** Both limits in tokens: the smaller one. */
function tokenLimit(budget: Budget, samplingDollars = 0): number | null {
  const limits = [budget.tokens, affordableTokens(budget, samplingDollars)].filter((limit) => limit !== null);
  return limits.length === 0 ? null : smallestOf(limits);
}

function affordableTokens(
  { dollars, dollarsPerMillionTokens: price }: Budget,
  samplingDollars: number,
): number | null {
  if (dollars === null || price === null) return null;
  return price === 0 ? Infinity : (Math.max(0, dollars - samplingDollars) / price) * 1e6;
}

function tokensPerStep({ tokens, stepsDone }: Usage): number {
  return stepsDone > 0 ? tokens / stepsDone : 0;
}
