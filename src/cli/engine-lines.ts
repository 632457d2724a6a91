import type { SupervisedConfig } from '../config/supervised-config';

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
export function engineLines({ url, because, server }: UsedEngine, config: SupervisedConfig): string[] {
  const kind = server === null ? '' : ` (${SERVERS[server]})`;
  const engine = `Engine: ${url}${kind}, by ${because}.`;
  return server === 'everstep' ? [engine] : [engine, ...priceLines(config)];
}

function priceLines(config: SupervisedConfig): string[] {
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
    `Training costs at most ${dollars((most * training) / 1e6)}: ${config.steps ?? 0} steps of ${config.batchSize} examples of up to ${config.maxLength ?? 0} tokens. Evaluations and storage come on top.`,
  ];
}

/** null where the config does not bound them. */
function mostTokens({ steps, batchSize, maxLength }: SupervisedConfig): number | null {
  return steps === undefined || maxLength === undefined ? null : steps * batchSize * maxLength;
}

function dollars(amount: number): string {
  return `$${amount.toFixed(2)}`;
}
