import { DomainError } from '../errors';
import type { PolicyDatum } from './rollout-datums';

/**
 * Log-probabilities of a datum's targets out of those of its whole text: `promptLogprobs` has one entry a token of
 * tokens + last target, the first of them nothing, because nothing predicts it.
 */
export function targetLogprobs(promptLogprobs: readonly (number | null)[]): Float32Array {
  return Float32Array.from(promptLogprobs.slice(1), (logprob) => logprob ?? 0);
}

/** The text to ask another model's log-probabilities for: tokens + last target. */
export function datumText({ datum }: PolicyDatum): number[] {
  return [...datum.tokens, ...datum.targetTokens.slice(-1)];
}

/** Refuses log-probabilities that are not one a target of each datum: a shift by one would train on noise unnoticed. */
export function requireAligned(datums: readonly PolicyDatum[], logprobs: readonly ArrayLike<number>[]): void {
  const index = datums.findIndex(({ mask }, datumIndex) => mask.length !== logprobs[datumIndex]?.length);
  if (index < 0 && datums.length === logprobs.length) return;
  const place = index < 0 ? datums.length : index;
  throw new DomainError(
    'protocol-error',
    `Datum ${place + 1} has ${datums[place]?.mask.length ?? 0} targets and ` +
      `${logprobs[place]?.length ?? 0} log-probabilities. The service must return one for each target.`,
  );
}
