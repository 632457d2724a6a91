import { DomainError } from '../core/errors';

/** Whether a failure of the operating system carries one of these codes, e.g. `ENOENT`. */
export function hasErrorCode(error: unknown, ...codes: readonly string[]): boolean {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
  );
}

/** A full disk is a state that ends: the work is tried again, and the message says what to do. */
export function asStoreError(error: unknown, path: string): unknown {
  if (!hasErrorCode(error, 'ENOSPC', 'EDQUOT')) return error;
  return new DomainError(
    'store-full',
    `No room left to write ${path}. Free some space; the run goes on by itself.`,
    {
      retryable: true,
      cause: error,
    },
  );
}
