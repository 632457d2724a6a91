import { discountedFutureSums } from './advantages';
import { requireAligned } from './policy-logprobs';
import { withAdvantages } from './rollout-datums';
import type { PolicyDatum } from './rollout-datums';

export interface KlPenalty {
  /** Advantage per nat of log p(sampled) − log p(reference). */
  readonly coefficient: number;
  /** 0 charges each token its own difference; above 0 also the discounted ones after it, observation tokens counting as steps. */
  readonly discount: number;
  /**
   * Whether the batch's mean difference is taken off first, so that the penalty moves advantages between tokens and
   * not as a whole: so with a reference model; not in on-policy distillation, where it is the whole signal.
   */
  readonly isCentred: boolean;
}

export interface PenalizedDatums {
  readonly datums: readonly PolicyDatum[];
  /** Mean difference in nats over the tokens with mask, an estimate of KL(policy ‖ reference); 0 without such tokens. */
  readonly kl: number;
}

/**
 * Adds −coefficient · (log p(sampled) − log p(reference)) to the advantages of the tokens with mask.
 *
 * `referenceLogprobs[d]` are the targets of datum d under the reference. tinker-cookbook, `incorporate_kl_penalty`;
 * there a discount also gives advantages to observation tokens, which then train the prompt. Here they stay at 0.
 */
export function penalizeKl(
  datums: readonly PolicyDatum[],
  referenceLogprobs: readonly ArrayLike<number>[],
  penalty: KlPenalty,
): PenalizedDatums {
  requireAligned(datums, referenceLogprobs);
  const differences = datums.map((datum, index) => maskedDifferences(datum, referenceLogprobs[index] ?? []));
  const kl = meanDifference(datums, differences);
  const offset = penalty.isCentred ? kl : 0;
  const penalized = datums.map((datum, datumIndex) => {
    const terms = datum.mask.map(
      (mask, index) => penalty.coefficient * mask * (offset - (differences[datumIndex]?.[index] ?? 0)),
    );
    const charged = penalty.discount > 0 ? discountedFutureSums(terms, penalty.discount) : terms;
    const advantages = datum.advantages.map(
      (advantage, index) => advantage + (datum.mask[index] ?? 0) * (charged[index] ?? 0),
    );
    return withAdvantages(datum, advantages);
  });
  return { datums: penalized, kl };
}

/** Mean difference over the tokens with mask: `kl_policy_base`, or a teacher's share of a mixed batch. */
export function meanKl(
  datums: readonly PolicyDatum[],
  referenceLogprobs: readonly ArrayLike<number>[],
): number {
  requireAligned(datums, referenceLogprobs);
  return meanDifference(
    datums,
    datums.map((datum, index) => maskedDifferences(datum, referenceLogprobs[index] ?? [])),
  );
}

function maskedDifferences({ mask, logprobs }: PolicyDatum, reference: ArrayLike<number>): Float64Array {
  return Float64Array.from(mask, (value, index) =>
    value > 0 ? value * ((logprobs[index] ?? 0) - (reference[index] ?? 0)) : 0,
  );
}

function meanDifference(datums: readonly PolicyDatum[], differences: readonly Float64Array[]): number {
  const weight = total(datums.map(({ mask }) => mask));
  return weight === 0 ? 0 : total(differences) / weight;
}

function total(rows: readonly (Float32Array | Float64Array)[]): number {
  let sum = 0;
  for (const row of rows) for (const value of row) sum += value;
  return sum;
}
