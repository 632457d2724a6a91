import type { SandboxLimit, SandboxLimits } from '../sandbox';
import { FilesWatch } from './files-watch';
import { hasTooManyLocks } from './held-locks';
import { kernelBytes } from './kernel-memory';
import { mappingsOf } from './mappings';
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

/**
 * Looks every 50 ms at what all processes of a program use together: the system's own limits are of one process or one file.
 * Returns what ends the watch.
 */
export function watchProgram({ firstProcess, folder, limits, onLimit }: WatchedProgram): () => void {
  const { memoryBytes } = limits;
  const files = new FilesWatch(folder, limits);
  let count = 0;
  let isLooking = false;
  let objectBytes = 0;
  const look = async (pid: number | null): Promise<void> => {
    const mappings = pid === null ? [] : await mappingsOf(pid);
    objectBytes = sharedObjectBytes(mappings, memoryBytes);
    if (pid !== null && (await hasTooManyLocks(pid))) onLimit('memory');
    const exceeded = await files.exceeded(pid, mappings ?? []);
    if (exceeded !== null) onLimit(exceeded);
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
