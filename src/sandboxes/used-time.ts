import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { LONGEST_TIMER_MS } from '../core/longest-timer';

/** What became of the time of one thread, in milliseconds since it began. */
export interface ThreadTime {
  readonly ranMs: number;
  /** Ready to run, while processors were busy with others. */
  readonly starvedMs: number;
}

/** How far a piece of work is with the time it may take, apart from what the machine did meanwhile. */
export interface TimeLimit {
  readonly limitMs: number;
  /** The work is given up after this long on the clock, whatever it has used. */
  readonly patienceMs: number;
  /** Time used of the limit since the work began; null where the system does not tell. */
  readonly usedMs: () => number | null;
  /** It has used all it may. */
  readonly onLimit: () => void;
  /** The machine has not let it use its time. */
  readonly onStarved: () => void;
}

const NANOSECONDS = 1e6;
const LEAST_WAIT_MS = 20;
/** How much longer than its limit work is waited for on a busy machine. */
export const PATIENCE = 12;
/** Of whole programs: some times their limit, and where that is short, long enough for a machine with much to do. */
export function sandboxPatienceMs(limitMs: number): number {
  return Math.max(5 * limitMs, limitMs + 15_000);
}
/** What a sandbox says of a program that did not get its time. */
export const STARVED = 'this machine is too busy to give its program the time it may take';

/** Null where the system does not tell: it is not Linux, or the thread is gone. */
export function threadTime(processId: number | string, threadId: number | string): ThreadTime | null {
  try {
    const text = readFileSync(`/proc/${processId}/task/${threadId}/schedstat`, 'utf8');
    const [ran = NaN, starved = NaN] = text.split(' ').map(Number);
    return Number.isFinite(ran) && Number.isFinite(starved)
      ? { ranMs: ran / NANOSECONDS, starvedMs: starved / NANOSECONDS }
      : null;
  } catch {
    return null;
  }
}

/** Processor time of a process's main thread, else of the process; null where neither is told. */
export function processorMs(processId: number | undefined): number | null {
  if (processId === undefined) return null;
  return threadTime(processId, processId)?.ranMs ?? reportedMs(processId);
}

/** Looks again until the limit is used up or patience is; returns what ends the looking. */
export function watchTime({ limitMs, patienceMs, usedMs, onLimit, onStarved }: TimeLimit): () => void {
  const start = performance.now();
  let timer = setTimeout(look, Math.min(limitMs, LONGEST_TIMER_MS));
  function look(): void {
    const used = usedMs();
    const wallMs = performance.now() - start;
    if (used !== null && used >= limitMs) onLimit();
    else if (wallMs >= patienceMs) onStarved();
    else {
      const leftMs = Math.max(LEAST_WAIT_MS, limitMs - (used ?? limitMs));
      timer = setTimeout(
        look,
        Math.min(LONGEST_TIMER_MS, leftMs, Math.max(LEAST_WAIT_MS, patienceMs - wallMs)),
      );
    }
  }
  return () => {
    clearTimeout(timer);
  };
}

/** `[[days-]hours:]minutes:seconds`, as `ps` tells it everywhere. */
function reportedMs(processId: number): number | null {
  try {
    const text = execFileSync('ps', ['-o', 'time=', '-p', String(processId)], {
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const seconds = text
      .trim()
      .split(/[-:]/)
      .reverse()
      .map((part, index) => Number(part) * (UNIT_SECONDS[index] ?? NaN))
      .reduce((sum, each) => sum + each, 0);
    return Number.isFinite(seconds) ? seconds * 1000 : null;
  } catch {
    return null;
  }
}

const UNIT_SECONDS = [1, 60, 3600, 86_400];
