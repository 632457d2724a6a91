import type { TrainingConfig } from '../config/training-config';

interface UsedEngine {
  readonly url: string;
  /** What made it the one. */
  readonly because: string;
  /** What it was recognised as; null where it could not be asked from here. */
  readonly server: 'everstep' | 'tinker' | 'skyrl' | null;
}

const SERVERS = {
  everstep: "Everstep's own engine",
  tinker: 'the Tinker service',
  skyrl: 'a service of the SkyRL kind',
} as const;

/** Which service will do the work and what it costs, told before anything is asked of it that costs. */
export function engineLines({ url, because, server }: UsedEngine, config: TrainingConfig): string[] {
  const kind = server === null ? '' : ` (${SERVERS[server]})`;
  const engine = `Engine: ${url}${kind}, by ${because}.`;
  return [engine, ...(server === 'everstep' ? freeLines(config) : priceLines(config))];
}

function freeLines({ budget, schedules, model, engine }: TrainingConfig): string[] {
  if (engine.prices?.[model] !== undefined) return [];
  const limited = (schedules ?? []).filter((schedule) => schedule.budget?.dollars !== undefined);
  return [
    ...(budget?.dollars === undefined
      ? []
      : [
          `Budget: tokens are free on this engine, so the limit of ${dollars(budget.dollars)} is never reached. budget.tokens or budget.seconds end a run here.`,
        ]),
    ...limited.map(
      ({ name }) =>
        `Schedule ${name}: tokens are free on this engine, so its limit in dollars is never reached. budget.tokens or budget.seconds end an evaluator here.`,
    ),
  ];
}

function priceLines(config: TrainingConfig): string[] {
  const { model, engine } = config;
  const prices = engine.prices?.[model];
  if (prices === undefined) {
    return [
      `Prices: none known for ${model}, so no costs are shown; engine.prices in the config can give them.`,
    ];
  }
  const { training, prefill, sampling } = prices;
  const parts = [
    `training ${dollars(training)}`,
    ...(prefill === undefined ? [] : [`prompts ${dollars(prefill)}`]),
    ...(sampling === undefined ? [] : [`sampling ${dollars(sampling)}`]),
  ];
  const line = `Prices: ${parts.join(', ')} per million tokens of ${model} (engine.prices of the config).`;
  const most = mostTokens(config);
  if (most === null) return [line];
  return [
    line,
    `Training costs at most ${dollars((most.tokens * training) / 1e6)}: ${most.because}. Evaluations and storage come on top.`,
  ];
}

/** null where the config does not bound them. */
function mostTokens(config: TrainingConfig): { readonly tokens: number; readonly because: string } | null {
  if (config.kind !== 'sft') return null;
  const { steps, batchSize, maxLength } = config;
  if (steps === undefined || maxLength === undefined) return null;
  return {
    tokens: steps * batchSize * maxLength,
    because: `${steps} steps of ${batchSize} examples of up to ${maxLength} tokens`,
  };
}

function dollars(amount: number): string {
  return `$${amount.toFixed(2)}`;
}
