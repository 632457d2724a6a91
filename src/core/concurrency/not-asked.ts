import { DomainError } from '../errors';

/** Of a request that was not sent before its process was to end: it cost nothing. */
export function notAsked(cause: unknown): DomainError {
  return new DomainError('interrupted', 'The process ends; the request was not sent.', {
    retryable: true,
    cause,
  });
}
