import { DomainError } from '../core/errors';

/** Each waits some seconds for a service that is away: long enough for one that is being started again. */
const ATTEMPTS = 3;

/** What a beginning throws that has nothing to lose yet: a service or a hub that stays away refuses it, with its words. */
export function giveUpInTime(error: unknown, attempt: number): unknown {
  if (attempt < ATTEMPTS || !(error instanceof DomainError) || error.code !== 'unreachable') return error;
  return new DomainError(error.code, error.message, { cause: error });
}
