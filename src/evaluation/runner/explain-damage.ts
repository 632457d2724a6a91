import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchmarkPlace } from '../../core/benchmark-run';
import { hasErrorCode } from '../../core/error-code';
import { DomainError } from '../../core/errors';
import { nearestExisting } from '../../stores/nearest-existing';
import { resultFolder } from './benchmark-plan';

const FILE = /\.(?:json|jsonl|lease)$/;
const FOLDER = /^(?:journal|shard-\d+)$/;
const DEPTH = 3;

/**
 * What of an eval run's folder is a directory where a file belongs, or a file where a directory does, in the place of the
 * operating system's word for it. Trying again would meet the same.
 */
export async function explainDamage(
  place: Pick<BenchmarkPlace, 'folder' | 'benchmark'>,
  error: unknown,
): Promise<unknown> {
  if (!hasErrorCode(error, 'EISDIR', 'ENOTDIR', 'EEXIST', 'ENOTEMPTY', 'ENOENT', 'EPERM')) return error;
  const problem =
    (await fileInPlaceOf(resultFolder(place)).catch(() => null)) ??
    (await misplacedIn(resultFolder(place), DEPTH).catch(() => null)) ??
    (await misplacedIn(place.folder, 1).catch(() => null));
  if (problem === null) return error;
  return new DomainError(
    'store-conflict',
    `${problem}. Move it away and give the same command again: it goes on with what is journalled.`,
    { cause: error },
  );
}

/** What the folder itself, or one above it, is instead. */
async function fileInPlaceOf(folder: string): Promise<string | null> {
  const { path, isFolder } = await nearestExisting(folder);
  return isFolder ? null : `${path} is a file where a directory belongs`;
}

async function misplacedIn(folder: string, depth: number): Promise<string | null> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && FILE.test(entry.name)) return `${path} is a directory where a file belongs`;
    if (entry.isFile() && FOLDER.test(entry.name)) return `${path} is a file where a directory belongs`;
    const inner = entry.isDirectory() && depth > 1 ? await misplacedIn(path, depth - 1) : null;
    if (inner !== null) return inner;
  }
  return null;
}
