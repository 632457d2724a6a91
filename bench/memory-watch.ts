import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { forgetPeak, memoryMib, peakMemoryMib } from './process-costs';

/** Resident memory of a process while something was done, in MiB. */
export interface ProcessMemory {
  readonly name: string;
  readonly before: number;
  readonly most: number;
  /** NaN of one that has ended. */
  readonly after: number;
}

const LOOK_EVERY_MS = 20;

/** Begins to watch processes that live; what comes back tells what each has had since. */
export function watchMemory(processes: readonly { readonly name: string; readonly pid: number }[]) {
  const begun = processes.map(({ name, pid }) => {
    forgetPeak(pid);
    return { name, pid, before: memoryMib(pid) };
  });
  return (): ProcessMemory[] =>
    begun.map(({ name, pid, before }) => ({
      name,
      before,
      most: peakMemoryMib(pid),
      after: memoryMib(pid),
    }));
}

/** Looks at a child until it ends: Linux keeps the peak, so that only what comes in the last moment is missed. */
export async function watchChild(name: string, child: ChildProcess): Promise<ProcessMemory> {
  let most = 0;
  while (child.exitCode === null && child.signalCode === null) {
    try {
      most = Math.max(most, peakMemoryMib(child.pid ?? 0) || 0);
    } catch {
      // It ended since it was looked at.
      break;
    }
    await delay(LOOK_EVERY_MS);
  }
  return { name, before: 0, most, after: Number.NaN };
}
