import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, readdir, realpath, rename, rm, unlink } from 'node:fs/promises';
import path from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';

/** Names that are on their way out: nobody lists them, and whoever deletes next removes what a kill left of them. */
const DOOMED = '.deleted-';
/** Also of runs that could not be begun. */
const ALL_DOOMED: readonly string[] = [DOOMED, '.discarded-'];

/** Folders of a store, and that of an engine, whose subfolders are deleted whole. */
export type DeletedKind = 'runs' | 'evals' | 'checkpoints';

export interface FolderSize {
  readonly bytes: number;
  readonly files: number;
}

/** Of everything in a folder. A link counts as itself, and what it points to is not looked at; of a file with several names there one counts bytes. */
export async function sizeOfFolder(folder: string): Promise<FolderSize> {
  let [bytes, files] = [0, 0];
  const counted = new Set<string>();
  for await (const { dev, ino, size, nlink } of filesBelow(folder)) {
    const file = `${dev}/${ino}`;
    if (!counted.has(file)) bytes += size;
    if (nlink > 1) counted.add(file);
    files += 1;
  }
  return { bytes, files };
}

/** Of a folder, or the file that is in its place; nothing of what goes meanwhile. */
async function* filesBelow(folder: string): AsyncGenerator<Stats> {
  const waiting = [folder];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const entry = await lstat(next).catch(absent);
    const names = entry?.isDirectory() ? await readdir(next).catch(absent) : null;
    for (const name of names ?? []) waiting.push(path.join(next, name));
    if (entry && !entry.isDirectory()) yield entry;
  }
}

/** Whether a name is of something that was being deleted. */
export function isDoomed(name: string): boolean {
  return ALL_DOOMED.some((beginning) => name.startsWith(beginning));
}

/**
 * Deletes `<parent>/<name>` of a store. It is renamed first, so that nobody finds half of it and a kill leaves only what the next call
 * removes. Of a link in its place the link alone goes. False where there is nothing; throws where the parent is reached by a link.
 */
export async function deleteFolder(root: string, kind: DeletedKind, name: string): Promise<boolean> {
  const parent = path.join(root, kind);
  if (!(await isOwnFolder(root, kind))) return false;
  const doomed = path.join(parent, `${DOOMED}${randomUUID()}`);
  const isThere = await isOurs(rename(path.join(parent, name), doomed));
  for (const left of await readdir(parent))
    if (left.startsWith(DOOMED)) await remove(path.join(parent, left));
  return isThere;
}

/**
 * Removes a file, or a folder that is doomed, beneath the root. Of a link in its place the link alone goes. False where there is
 * nothing, or where another one removes it: of several at once one is told that it did.
 */
export async function removeBeneath(root: string, entry: string): Promise<boolean> {
  if (!(await isOwnFolder(root, path.relative(root, path.dirname(entry))))) return false;
  const about = await lstat(entry).catch(absent);
  if (about === null) return false;
  if (!about.isDirectory()) return isOurs(unlink(entry));
  const doomed = path.join(path.dirname(entry), `${DOOMED}${randomUUID()}`);
  if (!(await isOurs(rename(entry, doomed)))) return false;
  await remove(doomed);
  return true;
}

/** Whether a name was still there to be taken away. */
async function isOurs(taking: Promise<void>): Promise<boolean> {
  try {
    await taking;
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** Another one may be removing the same. */
async function remove(entry: string): Promise<void> {
  await rm(entry, { recursive: true, force: true, maxRetries: 5 });
}

async function isOwnFolder(root: string, kind: string): Promise<boolean> {
  const parent = path.join(root, kind);
  const real = await realpath(parent).catch(absent);
  if (real === null) return false;
  const isBelow = !path.isAbsolute(kind) && !kind.split(path.sep).includes('..');
  if (isBelow && real === path.join(await realpath(root), kind)) return true;
  throw new DomainError(
    'refused',
    `${parent} is a link to ${real}: nothing is deleted through it. Name the store that it lies in with --store.`,
  );
}

function absent(error: unknown): null {
  if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return null;
  throw error;
}
