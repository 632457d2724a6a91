import { DomainError } from '../../core/errors';
import type { Destination } from './refusals';

/**
 * One request failed for as long as failures are borne, while the endpoint answered others: the failure is that of the
 * request. It was tried many times already.
 */
export class GivenUpError extends DomainError {
  constructor(
    { address, path }: Destination,
    failingMs: number,
    { reason, cause }: { readonly reason: string; readonly cause: unknown },
  ) {
    super(
      'request-failed',
      `${address.shown}${path} failed this request for ${Math.round(failingMs / 1000)} s, although it is up (${reason}).`,
      { category: 'server', cause },
    );
  }
}
