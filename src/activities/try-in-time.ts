import { DomainError } from '../core/errors';

/** Each waits some seconds for a service that is away: long enough for one that is being started again. */
const ATTEMPTS = 3;

/**
 * What a beginning does that has nothing to lose yet: a hub that stays away refuses it, with its words. Tried here and not by the
 * server, whose attempts also count workers that died.
 */
export async function tryInTime<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'unreachable' || !error.retryable) throw error;
      if (attempt >= ATTEMPTS) throw new DomainError(error.code, error.message, { cause: error });
    }
  }
}
