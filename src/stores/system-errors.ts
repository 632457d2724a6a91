import { DomainError } from '../core/errors';

/** Whether a failure of the operating system carries one of these codes, e.g. `ENOENT`. */
export function hasErrorCode(error: unknown, ...codes: readonly string[]): boolean {
  // Not `instanceof Error`: Node's own errors may come from another realm than this module's.
  const code: unknown = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return typeof code === 'string' && codes.includes(code);
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
