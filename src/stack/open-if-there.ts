import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { hasErrorCode } from '../core/error-code';

/** A file to read; null where there is none. */
export async function openIfThere(file: string): Promise<FileHandle | null> {
  try {
    return await open(file, 'r');
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return null;
    throw error;
  }
}
