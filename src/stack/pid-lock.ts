import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { readPlainFile } from '../config/plain-file';
import { inodeOf } from '../config/folder-inode';
import { hasErrorCode } from '../core/error-code';
import { isRunning, ownIdentity } from './process-identity';
import type { ProcessIdentity } from './process-identity';

/**
 * A lock file that names its holder, so that a crash never leaves it locked: the lock of a process that is gone
 * is taken over at once, without waiting for a timeout.
 */
export interface PidLock {
  /** Changes what the file says about the holder. */
  note(notes: LockNotes): void;
  release(): void;
}

export type LockNotes = Readonly<Record<string, string | number>>;

export interface LockHolder extends ProcessIdentity {
  /** The lock has the inode that it was written with, so that it came from nowhere else. Nobody is ended for one that has not. */
  readonly isPlaced: boolean;
  readonly notes: LockNotes;
}

export type LockAttempt = { readonly lock: PidLock } | { readonly holder: LockHolder };

const LockFile = z.object({
  pid: z.int().min(1),
  startedAt: z.string(),
  notes: z.record(z.string(), z.union([z.string(), z.number()])).default({}),
  /** Where it was written, and its own inode; releases before did not say it. */
  place: z.object({ path: z.string(), inode: z.string() }).optional(),
});

/** Between a takeover's few system calls nothing can take this long; its holder was killed there. */
const GUARD_LIMIT_MS = 3000;

/** Takes the lock, or tells who holds it. `onStale` sees what a dead holder left, before the lock is taken over. */
export async function takePidLock(
  file: string,
  options: { readonly notes?: LockNotes; readonly onStale?: (left: LockHolder) => Promise<void> } = {},
): Promise<LockAttempt> {
  mkdirSync(path.dirname(file), { recursive: true });
  const guard = new TakeoverGuard(`${file}.takeover`);
  for (;;) {
    if (create(file, options.notes ?? {})) return { lock: heldLock(file) };
    const found = readLock(file);
    if (found !== null && isRunning(found)) return { holder: found };
    if (found !== null) await options.onStale?.(found);
    if (!removeStale(file, guard)) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The living holder of a lock, if there is one. */
export function findLockHolder(file: string): LockHolder | null {
  const found = readLock(file);
  return found !== null && isRunning(found) ? found : null;
}

/**
 * What the file says, whether its holder lives or not. One that came with a copy of its folder names the holder of another lock: a moved one
 * keeps its inode, and one that stayed its path, whatever a network's file system makes of inodes.
 */
export function readLock(file: string): LockHolder | null {
  try {
    const { place, ...holder } = LockFile.parse(JSON.parse(readPlainFile(file)));
    if (!place) return { ...holder, isPlaced: false };
    const isPlaced = inodeOf(file) === place.inode;
    return isPlaced || placeOf(file) === place.path ? { ...holder, isPlaced } : null;
  } catch {
    return null;
  }
}

function placeOf(file: string): string {
  return path.join(realpathSync(path.dirname(file)), path.basename(file));
}

/** Links a complete file into place: others see either no lock or one that names its holder. */
function create(file: string, notes: LockNotes): boolean {
  const complete = writeBeside(file, notes);
  try {
    linkSync(complete, file);
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    rmSync(complete, { force: true });
  }
}

function heldLock(file: string): PidLock {
  return {
    note: (notes) => {
      renameSync(writeBeside(file, notes), file);
    },
    release: () => {
      if (readLock(file)?.pid === process.pid) rmSync(file, { force: true });
    },
  };
}

/** Only the holder of the guard removes a stale lock, after a second look, so a fresh lock is never removed. */
function removeStale(file: string, guard: TakeoverGuard): boolean {
  if (!guard.take()) return false;
  try {
    if (findLockHolder(file) === null) rmSync(file, { force: true });
    return true;
  } finally {
    guard.release();
  }
}

/** A folder that one process at a time can make. */
class TakeoverGuard {
  private seen: { readonly key: string; readonly at: number } | null = null;

  constructor(private readonly folder: string) {}

  take(): boolean {
    try {
      mkdirSync(this.folder);
      return true;
    } catch (error) {
      if (!hasErrorCode(error, 'EEXIST')) throw error;
      if (this.isLeft()) rmSync(this.folder, { recursive: true, force: true });
      return false;
    }
  }

  release(): void {
    rmdirSync(this.folder);
  }

  /** By our own clock: what its date says may be of another clock, and of whoever sent it. */
  private isLeft(): boolean {
    const stats = statSync(this.folder, { bigint: true, throwIfNoEntry: false });
    const key = `${stats?.ino}:${stats?.ctimeNs}`;
    if (this.seen?.key !== key) this.seen = { key, at: performance.now() };
    return performance.now() - this.seen.at > GUARD_LIMIT_MS;
  }
}

/** Under a name that nobody knows before, where nothing is: a link would lead elsewhere. */
function writeBeside(file: string, notes: LockNotes): string {
  const beside = `${file}.${randomUUID()}`;
  const descriptor = openSync(beside, 'wx');
  try {
    const place = { path: placeOf(file), inode: String(fstatSync(descriptor, { bigint: true }).ino) };
    writeFileSync(descriptor, JSON.stringify({ ...ownIdentity(), notes, place }));
    return beside;
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}
