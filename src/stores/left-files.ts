import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { isDoomed } from './delete-folder';

/** Something that an interrupted deletion or write left behind. */
export interface LeftEntry {
  readonly path: string;
  readonly kind: 'deletion' | 'temporary';
  /** Milliseconds since 1970 of its last change, its name included. */
  readonly changedAt: number;
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
/** As `temporaryName` makes them, and as downloads are called while they arrive. */
const TEMPORARY = new RegExp(`^(\\..+\\.${UUID}\\.tmp|.+\\.${UUID}\\.partial)$`);

/** Looks below a folder for what was on its way out, or in, when its process died. No link is followed; `isLeft` leaves out folders. */
export async function* leftEntries(
  folder: string,
  isLeft: (folder: string) => boolean = () => true,
): AsyncGenerator<LeftEntry> {
  const waiting = [folder];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const entry of await entriesOf(next)) {
      const own = path.join(next, entry.name);
      if (isDoomed(entry.name)) yield* found(own, 'deletion');
      else if (entry.isFile() && TEMPORARY.test(entry.name)) yield* found(own, 'temporary');
      else if (entry.isDirectory() && isLeft(own)) waiting.push(own);
    }
  }
}

/** Logs that were set aside because they were long. Nothing where their folder is reached by a link. */
export async function oldLogs(folder: string) {
  const entries = (await isLink(folder)) ? [] : await entriesOf(folder);
  const logs: { readonly path: string; readonly changedAt: number; readonly bytes: number }[] = [];
  for (const { name } of entries.filter((entry) => entry.isFile() && entry.name.endsWith('.log.old'))) {
    const own = path.join(folder, name);
    const about = await lstat(own).catch(absent);
    if (about) logs.push({ path: own, changedAt: about.mtimeMs, bytes: about.size });
  }
  return logs;
}

async function isLink(folder: string): Promise<boolean> {
  return (await lstat(folder).catch(absent))?.isSymbolicLink() ?? false;
}

/** Nothing where it has gone meanwhile. */
async function* found(own: string, kind: LeftEntry['kind']): AsyncGenerator<LeftEntry> {
  const about = await lstat(own).catch(absent);
  if (about) yield { path: own, kind, changedAt: Math.max(about.mtimeMs, about.ctimeMs) };
}

async function entriesOf(folder: string) {
  const entries = await readdir(folder, { withFileTypes: true }).catch(absent);
  return (entries ?? []).sort((left, right) => (left.name < right.name ? -1 : 1));
}

function absent(error: unknown): null {
  if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return null;
  throw error;
}
