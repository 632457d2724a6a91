import { readdirSync, readFileSync } from 'node:fs';

/** Processes whose command line has a text in it. Where there is no `/proc`, none. */
export function processesNaming(text: string): number[] {
  return listPids().filter((pid) => pid !== process.pid && commandLineOf(pid).includes(text));
}

/** Kills them; those inside a pid namespace die with its first process. */
export function killProcessesNaming(text: string): void {
  for (const pid of processesNaming(text)) {
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
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
