import { readdirSync, readFileSync } from 'node:fs';

/** Processes whose command line has a text in it. Where there is no `/proc`, none. */
export function processesNaming(text: string): number[] {
  return listPids().filter((pid) => pid !== process.pid && commandLineOf(pid).includes(text));
}

/** Kills them; those inside a pid namespace die with its first process. */
export function killProcessesNaming(text: string): void {
  killAll(processesNaming(text));
}

/**
 * Kills those that are neither one of `alive` nor a child of one: what a process left behind that was killed before it had
 * arranged for its children to die with it.
 */
export function killOrphansNaming(text: string, alive: ReadonlySet<number>): void {
  killAll(processesNaming(text).filter((pid) => !alive.has(pid) && !alive.has(parentOf(pid))));
}

function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended meanwhile.
    }
  }
}

function listPids(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function commandLineOf(pid: number): string {
  return readProcess(pid, 'cmdline');
}

/** Field 4 of `/proc/<pid>/stat`, behind a name that may hold anything; NaN where it has ended. */
function parentOf(pid: number): number {
  const stat = readProcess(pid, 'stat');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function readProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
