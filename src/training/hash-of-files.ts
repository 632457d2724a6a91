import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { findLocalFiles } from '../datasets/local-files';

/** As a data set's `contentHash`: of all bytes, one file after another. null where they cannot be read from here. */
export async function hashOfFiles(paths: string | readonly string[]): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    for (const { path } of await findLocalFiles(paths)) {
      await pipeline(createReadStream(path), hash, { end: false });
    }
    return hash.digest('hex');
  } catch {
    return null;
  }
}
