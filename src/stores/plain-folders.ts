import { lstatSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';

/** Nothing that is written into a benchmark's folder lies deeper. */
const DEPTH = 5;

/**
 * Refuses a link on the way from a store to what is written beneath it: somebody may have sent the store, and what is written would lie
 * where the link leads. The store itself may be one, on a larger disk.
 */
export function requireNoLinksOnWay(root: string, path: string): void {
  let place = root;
  for (const name of relative(root, path).split(sep).slice(0, -1)) {
    place = join(place, name);
    if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true) throw linkIn(place);
  }
}

/** Refuses links among the benchmarks of an eval run, which may lie in no store, and among all that one of them holds. */
export async function requireNoLinksIn(folder: string, benchmark: string): Promise<void> {
  await walk(folder, 1);
  await walk(join(folder, benchmark), DEPTH);
}

async function walk(folder: string, depth: number): Promise<void> {
  for (const entry of await entriesOf(folder)) {
    const place = join(folder, entry.name);
    if (entry.isSymbolicLink()) throw linkIn(place);
    if (entry.isDirectory() && depth > 1) await walk(place, depth - 1);
  }
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    // What is no folder is told by who writes there.
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  }
}

function linkIn(place: string): DomainError {
  return new DomainError(
    'refused',
    `${JSON.stringify(place)} is a link, and what is written here would lie where it leads; somebody may have sent this folder. Remove it, or put what it leads to in its place. The store itself may be a link.`,
  );
}
