import { METRIC_KEYS } from './metric-keys';

/** One sequence as trained or measured: what the model said of each target token and what of it counts. */
export interface ScoredSequence {
  readonly logprobs: ArrayLike<number>;
  readonly weights: ArrayLike<number>;
  /** 1 where the target counts for bits per byte: it has weight and is no special token. */
  readonly counted: ArrayLike<number>;
  /** UTF-8 bytes of the counted tokens' text. */
  readonly countedBytes: number;
}

export interface LikelihoodSums {
  /** −Σ log-probability · weight. */
  readonly nll: number;
  readonly weight: number;
  /** −Σ log-probability of counted tokens, in nats; weights only select. */
  readonly nats: number;
  readonly bytes: number;
}

/** One sequence's share of the means over a batch. */
export function likelihoodSums({ logprobs, weights, counted, countedBytes }: ScoredSequence): LikelihoodSums {
  let nll = 0;
  let weight = 0;
  let nats = 0;
  for (let index = 0; index < weights.length; index++) {
    const logprob = logprobs[index] ?? 0;
    const tokenWeight = weights[index] ?? 0;
    // A token that does not count may have log-probability −∞, and −∞ · 0 is not a number.
    if (tokenWeight !== 0) nll -= logprob * tokenWeight;
    weight += tokenWeight;
    if (counted[index]) nats -= logprob;
  }
  return { nll, weight, nats, bytes: countedBytes };
}

/** Mean negative log-likelihood: −Σ(log-probability · weight) ÷ Σ weight. null when nothing carries weight. */
export function meanNll(sequences: readonly ScoredSequence[]): number | null {
  const { nll, weight } = totalSums(sequences);
  return weight === 0 ? null : nll / weight;
}

/** −Σ log-probability of counted tokens ÷ (ln 2 · their UTF-8 bytes). null when there are no such bytes. */
export function bitsPerByte(sequences: readonly ScoredSequence[]): number | null {
  const { nats, bytes } = totalSums(sequences);
  return bytes === 0 ? null : nats / (Math.LN2 * bytes);
}

/** What a supervised step says of its batch, under the keys of `metrics.jsonl`. */
export function supervisedMetrics(sequences: readonly ScoredSequence[]): Record<string, number | null> {
  return {
    [METRIC_KEYS.nll]: meanNll(sequences),
    [METRIC_KEYS.bitsPerByte]: bitsPerByte(sequences),
    [METRIC_KEYS.tokens]: sequences.reduce((total, { weights }) => total + weights.length, 0),
    [METRIC_KEYS.lossTokens]: totalSums(sequences).weight,
    [METRIC_KEYS.sequences]: sequences.length,
  };
}

function totalSums(sequences: readonly ScoredSequence[]): LikelihoodSums {
  const total = { nll: 0, weight: 0, nats: 0, bytes: 0 };
  for (const sequence of sequences) {
    const sums = likelihoodSums(sequence);
    total.nll += sums.nll;
    total.weight += sums.weight;
    total.nats += sums.nats;
    total.bytes += sums.bytes;
  }
  return total;
}
