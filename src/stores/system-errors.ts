import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';

/** Once a file is open, Node does not say any more which one failed (`EISDIR: illegal operation on a directory, read`). */
export function withPath(error: unknown, path: string): unknown {
  if (typeof error !== 'object' || error === null || 'path' in error || !('syscall' in error)) return error;
  const message = 'message' in error ? String(error.message) : '';
  return Object.assign(error, { path, message: `${message} '${path}'` });
}

/** Refusals that say nothing of what was to be written, and that end by themselves or by a person's hand. */
const REFUSALS: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  ENOSPC: ['no room is left', 'Free some space'],
  EDQUOT: ['the disk quota is used up', 'Free some space'],
  EACCES: ['permission denied', 'Give the worker permission to read and write it'],
  EPERM: ['not permitted', 'Give the worker permission to read and write it'],
  EROFS: ['the disk is read-only', 'Make it writable'],
  EIO: ['the disk does not work', 'Repair it'],
  ESTALE: ['the shared folder went away', 'Mount it again'],
  EMFILE: ['too many files are open', 'Raise the limit (ulimit -n)'],
  ENFILE: ['too many files are open', 'Close other programs'],
};

/** Only files of a disk fail so: where such an error names no path, it is of the file at hand. */
const OF_A_DISK: readonly string[] = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ESTALE'];

/**
 * The error of an attempt to write the store's file at `path`. A store that cannot be used is a state that ends: such an error
 * becomes a `store-full`, so that the work is tried again, and says what to do. Others, and those of a file elsewhere, stay
 * as they are.
 */
export function asStoreError(error: unknown, path: string): unknown {
  const failed = pathOf(error);
  const isOfFile = failed === null ? hasErrorCode(error, ...OF_A_DISK) : isBesideOrAbove(failed, path);
  return isOfFile ? refusalOf(error, path) : error;
}

/** The same for work that also touches files of others: an error counts as the store's where its path lies in `folder`. */
export function asStoreErrorWithin(error: unknown, folder: string): unknown {
  const failed = pathOf(error);
  return failed !== null && isWithin(failed, folder) ? refusalOf(error, failed) : error;
}

/**
 * The error of work in a folder of the store that went away under it, as where a shared disk is mounted again: an `unreachable`, so
 * that the work is tried again. Others stay as they are. What explains such an error in its own words counts as it.
 */
export function asGoneFolder(error: unknown, folder: string): unknown {
  const cause = error instanceof DomainError ? error.cause : error;
  const failed = pathOf(cause);
  const isOfFolder = failed !== null && (isWithin(failed, folder) || isWithin(folder, failed));
  if (!isOfFolder || !hasErrorCode(cause, 'ENOENT')) return error;
  return new DomainError(
    'unreachable',
    `The store's ${failed} went away while it was worked with (ENOENT). Put its folder back if it was moved; what waits for it goes on by itself.`,
    { retryable: true, cause: error },
  );
}

function refusalOf(error: unknown, path: string): unknown {
  const code = Object.keys(REFUSALS).find((known) => hasErrorCode(error, known));
  const refusal = code === undefined ? undefined : REFUSALS[code];
  if (code === undefined || refusal === undefined) return error;
  const [what, remedy] = refusal;
  const message = `The store cannot be used at ${path}: ${what} (${code}). ${remedy}; what waits for it goes on by itself.`;
  return new DomainError('store-full', message, { retryable: true, cause: error });
}

function pathOf(error: unknown): string | null {
  const isNamed = typeof error === 'object' && error !== null && 'path' in error;
  return isNamed && typeof error.path === 'string' ? error.path : null;
}

/** Temporary files lie beside the one they become, and folders are made on the way to it. */
function isBesideOrAbove(failed: string, path: string): boolean {
  return dirname(resolve(failed)) === dirname(resolve(path)) || isWithin(path, failed);
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
