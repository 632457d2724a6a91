import type { Stats } from 'node:fs';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import { withPath } from './system-errors';

/** Opening a pipe does not wait for a writer then. */
const READING = constants.O_RDONLY | constants.O_NONBLOCK;
/** A text of this language holds no more; what Everstep reads whole has a few kilobytes. */
const MOST_BYTES = 2 ** 29 - 24;

/**
 * Opens a file of the store to be read; null where there is none. Others may have put there what they like: a folder, a pipe, a
 * socket or a device, which would have no end, keep a reader waiting or fail in the middle, or a link to itself, is refused as
 * `store-conflict`, with its path.
 */
export async function openToRead(path: string): Promise<FileHandle | null> {
  const file = await open(path, READING).catch((error: unknown) => refuseUnopened(error, path));
  if (file === null) return null;
  const what = kindOf(await file.stat());
  if (what === null) return file;
  await file.close();
  throw refusal(path, what);
}

/** As `openToRead`, for readers that take their time from others. */
export function openToReadSync(path: string): number | null {
  const descriptor = openOrNull(path);
  if (descriptor === null) return null;
  const what = kindOf(fstatSync(descriptor));
  if (what === null) return descriptor;
  closeSync(descriptor);
  throw refusal(path, what);
}

/** null when there is no such file. What is no file in its place is refused; errors name the path. */
export async function readWholeFile(path: string): Promise<string | null> {
  const file = await openToRead(path);
  if (file === null) return null;
  try {
    requireReadable(path, (await file.stat()).size);
    return await file.readFile('utf8');
  } catch (error) {
    throw withPath(error, path);
  } finally {
    await file.close();
  }
}

/** As `readWholeFile`, for readers that take their time from others. */
export function readWholeFileSync(path: string): string | null {
  const descriptor = openToReadSync(path);
  if (descriptor === null) return null;
  try {
    requireReadable(path, fstatSync(descriptor).size);
    return readFileSync(descriptor, 'utf8');
  } catch (error) {
    throw withPath(error, path);
  } finally {
    closeSync(descriptor);
  }
}

function openOrNull(path: string): number | null {
  try {
    return openSync(path, READING);
  } catch (error) {
    return refuseUnopened(error, path);
  }
}

/** A socket cannot even be opened. */
function refuseUnopened(error: unknown, path: string): null {
  if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return null;
  if (hasErrorCode(error, 'ENXIO', 'ENODEV')) throw refusal(path, 'a socket or a device');
  if (hasErrorCode(error, 'ELOOP')) throw refusal(path, 'a link that leads back to itself');
  throw error;
}

/** null for a file as all are. */
function kindOf(stats: Stats): string | null {
  if (stats.isFile()) return null;
  if (stats.isDirectory()) return 'a directory';
  return stats.isFIFO() ? 'a pipe' : 'a device';
}

function requireReadable(path: string, size: number): void {
  if (size <= MOST_BYTES) return;
  throw new DomainError(
    'store-conflict',
    `${path} has ${size} bytes, which is more than such a file can have. Move it away, and put the file back if there was one.`,
  );
}

function refusal(path: string, what: string): DomainError {
  return new DomainError(
    'store-conflict',
    `${path} is ${what} where a file belongs. Move it away, and put the file back if there was one.`,
  );
}
