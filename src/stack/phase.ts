import { setTimeout as delay } from 'node:timers/promises';
import { anySignal } from '../core/concurrency/any-signal';
import { DomainError } from '../core/errors';
import type { Progress } from './progress';

export interface PhaseOptions {
  readonly name: string;
  readonly progress: Progress;
  /** What is being worked on at this moment. */
  readonly describe?: () => string;
  readonly limitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Why the work of a phase was aborted by its own limit, and not by a person. */
export class PhaseLimitError extends DomainError {
  constructor(name: string, limitMs: number) {
    super('timed-out', `${name} took longer than ${Math.round(limitMs / 100) / 10} s`);
  }
}

const TICK_MS = 1000;
/** Shorter ones are over before anybody wonders. */
const WORTH_A_NOTE_MS = 5000;

/**
 * One part of what a person waits for, with a limit of its own: what is being done and for how long is shown every
 * second. The work has to end when its signal is aborted, by the limit or from outside.
 */
export async function inPhase<Value>(
  options: PhaseOptions,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const { name, progress, describe, limitMs } = options;
  const begin = performance.now();
  const elapsedMs = (): number => performance.now() - begin;
  const show = (): void => {
    progress.status(phaseText(name, elapsedMs(), describe?.() ?? ''));
  };
  const limit = new AbortController();
  const timer =
    limitMs === undefined
      ? undefined
      : setTimeout(() => {
          limit.abort(new PhaseLimitError(name, limitMs));
        }, limitMs);
  const ticker = setInterval(show, TICK_MS);
  show();
  try {
    const outside = options.signal === undefined ? [] : [options.signal];
    return await work(anySignal([limit.signal, ...outside]));
  } finally {
    clearInterval(ticker);
    clearTimeout(timer);
    progress.status(null);
    if (elapsedMs() > WORTH_A_NOTE_MS) progress.note(`${name} took ${seconds(elapsedMs())} s.`);
  }
}

function phaseText(name: string, elapsedMs: number, detail: string): string {
  const time = elapsedMs < TICK_MS / 2 ? '' : ` (${seconds(elapsedMs)} s)`;
  return `${name}${time}${detail === '' ? '…' : `: ${detail}`}`;
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds / 1000);
}

/** Leaves a wait that cannot be aborted; what it waited for goes on unseen. */
export async function orAbort<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  const end = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    const give = (): void => {
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- whatever the signal was aborted with
      reject(signal.reason);
    };
    signal.addEventListener('abort', give, { once: true, signal: end.signal });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    end.abort();
  }
}

/** Looks again and again until there is something, or the signal is aborted. */
export async function pollUntil<Value>(
  find: () => Value | null | Promise<Value | null>,
  { everyMs, signal }: { readonly everyMs: number; readonly signal?: AbortSignal | undefined },
): Promise<Value> {
  for (;;) {
    signal?.throwIfAborted();
    const found = await find();
    if (found !== null) return found;
    await delay(everyMs);
  }
}
