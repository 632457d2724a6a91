/** Dollars per million tokens. */
export interface SamplingPrices {
  readonly prefill: number;
  readonly sampling: number;
}

/** Tokens of one or more requests. */
export interface SampledTokens {
  readonly prompt: number;
  readonly sampled: number;
}

/** What the requests of a shard of rollouts may cost, and where that is kept. */
export interface SamplingAccount {
  readonly prices: SamplingPrices;
  /** All attempts at the shard together; null where nothing limits them. */
  readonly dollars: number | null;
  /** Rises with every time that the shard is asked for. */
  readonly write: number;
}

export const NOTHING_SAMPLED: SampledTokens = { prompt: 0, sampled: 0 };

export function plusTokens(one: SampledTokens, other: SampledTokens): SampledTokens {
  return { prompt: one.prompt + other.prompt, sampled: one.sampled + other.sampled };
}

export function costOfSampling({ prompt, sampled }: SampledTokens, prices: SamplingPrices | null): number {
  if (prices === null) return 0;
  return (prompt * prices.prefill + sampled * prices.sampling) / 1e6;
}
