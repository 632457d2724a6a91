import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';

/** A plain file to read; null where there is none. Whoever opens a pipe would wait for its writer, and a device has no end. */
export async function openIfThere(file: string): Promise<FileHandle | null> {
  const handle = await openAtOnce(file);
  if (handle === null || (await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new DomainError('refused', `${JSON.stringify(file)} is no plain file. Remove it.`);
}

async function openAtOnce(file: string): Promise<FileHandle | null> {
  try {
    return await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return null;
    throw error;
  }
}
