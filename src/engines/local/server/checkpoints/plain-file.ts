import type { Stats } from 'node:fs';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { hasErrorCode } from '../../../../core/error-code';
import { DomainError } from '../../../../core/errors';

/** Links are not followed, and opening a pipe does not wait for its other end. */
const READING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** As much as one call of the system takes. */
const PART_BYTES = 2 ** 30;

/** Why something in the data folder is not read: nobody knows who else has put files there. */
export class NoPlainFile extends DomainError {
  constructor(readonly reason: string) {
    super('request-failed', reason);
  }
}

/**
 * The bytes of a file in the data folder. Throws `NoPlainFile` for a link, a folder, a pipe, a socket or a device in its place, and
 * for more than `mostBytes`; of a file that grows meanwhile no more is read than it had.
 */
export async function readPlainFile(file: string, mostBytes: number): Promise<Uint8Array> {
  const handle = await open(file, READING).catch((error: unknown) => refuseUnopened(error));
  try {
    const bytes = new Uint8Array(sizeOf(await handle.stat(), mostBytes));
    let end = 0;
    for (let count = 1; count > 0 && end < bytes.length; end += count) {
      const room = Math.min(PART_BYTES, bytes.length - end);
      count = (await handle.read(bytes, end, room, end)).bytesRead;
    }
    return bytes.subarray(0, end);
  } finally {
    await handle.close();
  }
}

/** As `readPlainFile`, for what is read before anybody waits. */
export function readPlainFileSync(file: string, mostBytes: number): Uint8Array {
  const descriptor = openPlain(file);
  try {
    const bytes = new Uint8Array(sizeOf(fstatSync(descriptor), mostBytes));
    let end = 0;
    for (let count = 1; count > 0 && end < bytes.length; end += count)
      count = readSync(descriptor, bytes, end, Math.min(PART_BYTES, bytes.length - end), end);
    return bytes.subarray(0, end);
  } finally {
    closeSync(descriptor);
  }
}

function openPlain(file: string): number {
  try {
    return openSync(file, READING);
  } catch (error) {
    return refuseUnopened(error);
  }
}

function refuseUnopened(error: unknown): never {
  if (hasErrorCode(error, 'ELOOP')) throw new NoPlainFile('it is a link where a file belongs');
  if (hasErrorCode(error, 'ENXIO', 'ENODEV'))
    throw new NoPlainFile('it is a socket or a device where a file belongs');
  throw error;
}

function sizeOf(stats: Stats, mostBytes: number): number {
  if (!stats.isFile()) throw new NoPlainFile(`it is ${kindOf(stats)} where a file belongs`);
  if (stats.size > mostBytes)
    throw new NoPlainFile(`it has ${stats.size} bytes, and no more than ${mostBytes} belong there`);
  return stats.size;
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a folder';
  return stats.isFIFO() ? 'a pipe' : 'a device';
}
