import { dollarsOf } from '../core/controls/budget';
import type { SamplingPrices } from '../core/sampling-cost';
import { costOfSampling } from '../core/sampling-cost';
import type { EvaluationBudget } from '../core/schedules/evaluation-schedule';
import type { Overrun, Spent, SpentAccount } from './spent-account';
import { timesAsked } from './spent-account';

/** What is held to a budget: tokens of prompts and answers, their dollars, and how many answers. */
export type AnswerBudget = Pick<EvaluationBudget, 'tokens' | 'dollars'> & { readonly requests?: number };

export interface BudgetTerms {
  readonly budget: AnswerBudget;
  /** Without them tokens cost nothing. */
  readonly prices: SamplingPrices | null;
}

const SHOWN_DIGITS = 2;

export function fitsBudget({ budget, prices }: BudgetTerms, amount: Spent): boolean {
  const { tokens = Infinity, dollars = Infinity, requests = Infinity } = budget;
  const isWithinTokens = amount.prompt + amount.sampled <= tokens;
  return isWithinTokens && costOfSampling(amount, prices) <= dollars && amount.requests <= requests;
}

/** Why no further request is sent. */
export function whyNoMore(terms: BudgetTerms, account: SpentAccount): string {
  const passed = passedText(terms, account);
  if (passed !== null) return passed;
  const times = shownTimes(account.overrun);
  const size = times > 1 ? `up to ${times} times maxTokens, as the service counts` : 'up to maxTokens';
  return `the next answer, of ${size}, would not fit its budget: ${usedText(terms, account.spent)} used${overrunText(account.overrun)}`;
}

/** That more was spent than the budget allows, by how much and why; null where it was not. */
export function passedText(terms: BudgetTerms, account: SpentAccount): string | null {
  if (fitsBudget(terms, account.spent)) return null;
  return `its budget is passed${excessText(terms, account.spent)}: ${usedText(terms, account.spent)} used${overrunText(account.overrun)}`;
}

function usedText({ budget, prices }: BudgetTerms, spent: Spent): string {
  const { tokens, dollars, requests } = budget;
  return [
    ...(requests === undefined ? [] : [`${spent.requests} of ${requests} requests`]),
    ...(tokens === undefined ? [] : [`${spent.prompt + spent.sampled} of ${tokens} tokens`]),
    ...(dollars === undefined ? [] : [dollarsOf(costOfSampling(spent, prices), dollars)]),
  ].join(' and ');
}

function excessText({ budget, prices }: BudgetTerms, spent: Spent): string {
  const { tokens = Infinity, dollars = Infinity } = budget;
  const excessTokens = spent.prompt + spent.sampled - tokens;
  const excessDollars = costOfSampling(spent, prices) - dollars;
  const excess = [
    ...(excessTokens > 0 ? [`${excessTokens} tokens`] : []),
    ...(excessDollars > 0 ? [`$${Number(excessDollars.toPrecision(SHOWN_DIGITS))}`] : []),
  ];
  return excess.length === 0 ? '' : ` by ${excess.join(' and ')}`;
}

/** What the service does, and what a person can do about it. */
function overrunText({ answer, promptExcess }: Overrun): string {
  if (answer !== null) {
    return `. The service counts more tokens than maxTokens asks for: ${answer.taken} for an answer of at most ${answer.asked}, as some do that count reasoning apart. Have it reason less, or give a budget with room for what it counts`;
  }
  if (promptExcess === 0) return '';
  return `. The service counts up to ${promptExcess} tokens more for a prompt than its text has, as for instructions of its own. Take those away, or give a budget with room for them`;
}

/** One token more, the end of a turn, is not worth a word. */
function shownTimes(overrun: Overrun): number {
  return Number(timesAsked(overrun).toPrecision(SHOWN_DIGITS));
}
