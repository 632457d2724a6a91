import { familyOf, readText, tasksOf } from './process-family';

/** One that is stopped may have been woken by another that was not yet. */
const QUIET_ROUNDS = 2;
const MOST_ROUNDS = 20;
const ROUND_MS = 1;
/** Stopped, traced, or dead. */
const AT_REST = /^[TtZXx]/;

/**
 * Calls `body` while all processes of a program stand still, but for a system call that one may be in. Those that the program has stopped itself stay
 * so. A null is a program that has ended.
 */
export function whileStopped<T>(pid: number | null, body: () => T): T {
  const stopped = new Set<number>();
  try {
    if (pid !== null) stop(pid, stopped);
    return body();
  } finally {
    for (const each of stopped) signal(each, 'SIGCONT');
  }
}

function stop(pid: number, stopped: Set<number>): void {
  let quiet = 0;
  for (let round = 0; round < MOST_ROUNDS && quiet < QUIET_ROUNDS; round++) {
    const running = familyOf(pid).filter(isRunning);
    for (const each of running) {
      stopped.add(each);
      signal(each, 'SIGSTOP');
    }
    quiet = running.length === 0 ? quiet + 1 : 0;
    if (quiet === 0) pause();
  }
}

function isRunning(pid: number): boolean {
  return tasksOf(pid).some((task) => {
    const stat = readText(`/proc/${pid}/task/${task}/stat`);
    return stat !== '' && !AT_REST.test(stat.slice(stat.lastIndexOf(')') + 2));
  });
}

/** Without giving the event loop back: nothing else is to happen while a program stands still. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ROUND_MS);
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
