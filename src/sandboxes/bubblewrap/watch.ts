import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { SandboxLimit, SandboxLimits } from '../sandbox';
import type { HeldFiles } from './held-files';
import { heldFiles } from './held-files';
import { hasTooManyLocks } from './held-locks';
import { kernelBytes } from './kernel-memory';
import { sharedObjectBytes } from './shared-objects';
import { memoryOf } from './used-memory';

export interface WatchedProgram {
  /** The first process of the program's pid namespace, as this machine numbers it; null until it is known. */
  readonly firstProcess: () => number | null;
  readonly folder: string;
  readonly limits: SandboxLimits;
  readonly onLimit: (limit: SandboxLimit) => void;
}

const EVERY_MS = 50;
/** Looking through files costs more than looking at processes. */
const FILES_EVERY = 3;
/** So many files are too many, however small. */
const MOST_FILES = 10_000;
const NOTHING_HELD: HeldFiles = { diskBytes: 0, memoryBytes: 0 };

/**
 * Looks every 50 ms at what all processes of a program use together: the system's own limits are of one process or one file.
 * Returns what ends the watch.
 */
export function watchProgram({ firstProcess, folder, limits, onLimit }: WatchedProgram): () => void {
  const { memoryBytes, diskBytes } = limits;
  let count = 0;
  let isLooking = false;
  let objectBytes = 0;
  const look = async (pid: number | null): Promise<void> => {
    const held = pid === null ? NOTHING_HELD : heldFiles(pid, folder);
    if (held.memoryBytes > memoryBytes) onLimit('memory');
    if (pid !== null) {
      objectBytes = await sharedObjectBytes(pid, memoryBytes);
      if (await hasTooManyLocks(pid)) onLimit('memory');
    }
    if (await isOverfull(folder, diskBytes - held.diskBytes)) onLimit('disk');
  };
  const timer = setInterval(() => {
    const pid = firstProcess();
    if (pid !== null && memoryOf(pid, memoryBytes, objectBytes) + kernelBytes(pid) > memoryBytes)
      onLimit('memory');
    if (++count % FILES_EVERY !== 0 || isLooking) return;
    isLooking = true;
    void look(pid).then(() => {
      isLooking = false;
    });
  }, EVERY_MS);
  return () => {
    clearInterval(timer);
  };
}

/** Whether the files of a folder take more than they may. What vanishes while it is counted does not count. */
export async function isOverfull(folder: string, diskBytes: number): Promise<boolean> {
  const folders = [folder];
  let bytes = 0;
  let files = 0;
  for (const each of folders) {
    const entries = await entriesOf(each);
    if (entries === null) return true;
    for (const entry of entries) {
      const place = path.join(each, entry.name);
      files += 1;
      if (entry.isDirectory()) folders.push(place);
      else bytes += await bytesOf(place);
      if (bytes > diskBytes || files > MOST_FILES) return true;
    }
  }
  return false;
}

/** null where a path is longer than the system takes: nobody can count what lies below. */
async function entriesOf(folder: string): Promise<Dirent[] | null> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENAMETOOLONG'
      ? null
      : [];
  }
}

/** What it takes on the disk: a file may claim a length that it has not. */
async function bytesOf(place: string): Promise<number> {
  const stat = await lstat(place).catch(() => null);
  return stat === null ? 0 : stat.blocks * 512;
}
