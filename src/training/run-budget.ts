import type { TrainingConfig } from '../config/training-config';
import { NO_BUDGET } from '../core/controls/budget';
import { DomainError } from '../core/errors';
import type { TrainingPlan } from '../core/training-plan';
import type { EvaluationSchedule } from '../core/schedules/evaluation-schedule';
import { givenLimits } from './given-limits';

/**
 * Limits of the config, and the price by which dollars are counted; nothing where the config says neither.
 *
 * Prices are those under `engine.prices`: no service publishes a list that can be read. Our own engine costs nothing. What a
 * reinforcement run draws, with its prompts and what is not trained on, costs apart.
 */
export function budgetOf(
  config: TrainingConfig,
  isFree: boolean,
): Pick<TrainingPlan, 'budget' | 'samplingPrices'> {
  const { budget, model } = config;
  const price = priceOf(config) ?? (isFree ? 0 : null);
  if (budget === undefined && priceOf(config) === null) return {};
  if (budget?.dollars !== undefined && price === null) {
    throw new DomainError(
      'bad-config',
      `budget.dollars: the price of ${model} is not known. Give it under engine.prices, in dollars per million tokens.`,
    );
  }
  return {
    budget: { ...NO_BUDGET, ...givenLimits(budget), dollarsPerMillionTokens: price },
    ...samplingPricesOf(config),
  };
}

/** A schedule's limit in dollars needs prices by which it is counted, except where evaluating costs nothing. */
export function refuseUnpriced(
  { engine, model }: TrainingConfig,
  schedules: readonly EvaluationSchedule[],
  isFree: boolean,
): void {
  const limited = schedules.find(({ budget }) => budget?.dollars !== undefined);
  const prices = engine.prices?.[model];
  const isPriced = prices?.prefill !== undefined && prices.sampling !== undefined;
  if (!limited || isFree || isPriced) return;
  throw new DomainError(
    'bad-config',
    `schedules: "${limited.name}" has a budget in dollars, and prices are not known. Give prefill and sampling under engine.prices for ${model}.`,
  );
}

function priceOf({ model, engine }: TrainingConfig): number | null {
  return engine.prices?.[model]?.training ?? null;
}

/** A price that the config does not name is none. */
function samplingPricesOf({ kind, model, engine }: TrainingConfig): Pick<TrainingPlan, 'samplingPrices'> {
  const prices = engine.prices?.[model];
  if (kind !== 'rl' || prices === undefined) return {};
  return { samplingPrices: { prefill: prices.prefill ?? 0, sampling: prices.sampling ?? 0 } };
}
