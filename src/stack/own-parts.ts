import type { Dirent } from 'node:fs';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';

/** A person may keep them on a larger disk. */
const MAY_BE_LINKS: ReadonlySet<string> = new Set(['store', 'cache']);
/** Names that are written and removed as files. */
const FILES: ReadonlySet<string> = new Set([
  'stack.json',
  'dev.lock',
  'temporal.db.lock',
  'temporal.db.place',
]);
/** Of plain files alone, which a stack writes and removes by their names. */
const OF_FILES = ['clients', 'logs'];

/**
 * Refuses a data folder of another user of the machine, who may write into it what is true here of processes and inodes. Root, who owns what
 * is in containers, uses any.
 */
export function requireOwnFolder(dataFolder: string): void {
  const uid = process.getuid?.() ?? 0;
  const owner = statSync(dataFolder, { throwIfNoEntry: false })?.uid ?? uid;
  if (uid === 0 || owner === uid || owner === 0) return;
  throw new DomainError(
    'refused',
    `${dataFolder} belongs to another user (${owner}; you are ${uid}), who may have written anything there. Give another --data-dir, or work as that user.`,
  );
}

/** Refuses a data folder in which a stack would write or remove what is not its own, or wait for ever: somebody may have sent it. */
export function requireOwnParts(dataFolder: string): void {
  requireOwnFolder(dataFolder);
  requirePlainParts(dataFolder);
}

/** The same of a service that somebody starts by itself, maybe as another user than the one whose folder it is given. */
export function requirePlainParts(dataFolder: string): void {
  for (const entry of entriesOf(dataFolder)) {
    const kind = strangeKind(entry);
    if (kind !== null) throw notOwn(path.join(dataFolder, entry.name), kind);
  }
  for (const name of OF_FILES) {
    const folder = path.join(dataFolder, name);
    const other = entriesOf(folder).find((entry) => !entry.isFile());
    if (other) throw notOwn(path.join(folder, other.name), 'no plain file');
  }
}

/** null where it may be a part of a data folder. */
function strangeKind(entry: Dirent): string | null {
  if (entry.isFile()) return null;
  if (entry.isDirectory()) return FILES.has(entry.name) ? 'a folder' : null;
  if (entry.isSymbolicLink()) return MAY_BE_LINKS.has(entry.name) ? null : 'a link';
  return 'a pipe, a socket or a device';
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return [];
    if (hasErrorCode(error, 'ENOTDIR')) throw notOwn(folder, 'no folder');
    throw error;
  }
}

function notOwn(place: string, what: string): DomainError {
  return new DomainError(
    'refused',
    `${place} is ${what}, and a stack writes in this data folder, which somebody may have sent. Remove it, or give another --data-dir.`,
  );
}
