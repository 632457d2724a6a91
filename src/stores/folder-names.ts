import { readdir } from 'node:fs/promises';
import { hasErrorCode } from '../core/error-code';

/** What lies in a folder; nothing where there is none, or a link that leads back to itself. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return [];
    throw error;
  }
}
