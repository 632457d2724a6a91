import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process, told apart from a later one that got the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in whatever form the system tells it. */
  readonly startedAt: string;
}

export function identifyProcess(pid: number): ProcessIdentity | null {
  const startedAt = process.platform === 'linux' ? startOnLinux(pid) : startFromPs(pid);
  return startedAt === null ? null : { pid, startedAt };
}

export function ownIdentity(): ProcessIdentity {
  return identifyProcess(process.pid) ?? { pid: process.pid, startedAt: 'unknown' };
}

/** A record that does not know when its process started is that of none: its number may be anybody's by now. */
export function isRunning(identity: ProcessIdentity): boolean {
  const current = identifyProcess(identity.pid);
  return current !== null && current.startedAt === identity.startedAt;
}

/** Sends a signal; false when there is no such process (or group, for a negative number) any more. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Waits until the process is gone; false when it outlived `timeoutMs`. */
export async function waitForExit(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (isRunning(identity)) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return true;
}

/** A zombie counts as gone: it holds nothing, and in a container nobody may ever reap it. */
function startOnLinux(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold spaces, so count from the last one; field 3 is the state, field 22 the start.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return null;
    return fields[19] ?? null;
  } catch {
    return null;
  }
}

function startFromPs(pid: number): string | null {
  try {
    const shown = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [state, ...start] = shown.trim().split(/\s+/);
    return !state || state.startsWith('Z') ? null : start.join(' ');
  } catch {
    return null;
  }
}
