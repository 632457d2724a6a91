import { setTimeout as delay } from 'node:timers/promises';
import type { ErrorCode } from '../../core/errors';
import { DomainError } from '../../core/errors';
import { messageOf } from '../error-message';

/** Failures that say nothing of the example: the attempt ends, and whoever comes next goes on from the journal. */
const WHOLE_CELL: readonly ErrorCode[] = [
  'superseded',
  'store-full',
  'store-conflict',
  'unreachable',
  'session-lost',
  'unauthorized',
  'checkpoint-missing',
];

const ATTEMPTS = 3;
const FIRST_WAIT_MS = 200;

export interface Tries {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** What came of one stage of one example. */
export type Outcome<Value> = { readonly value: Value } | { readonly error: string };

/**
 * Tries a stage of an example a few times. What still fails is data: the example counts as an error. Failures of the
 * whole cell are thrown.
 */
export async function tryExample<Value>(
  { signal, timeoutMs }: Tries,
  run: (signal: AbortSignal) => Promise<Value>,
): Promise<Outcome<Value>> {
  for (let attempt = 1; ; attempt++) {
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      return { value: await untilAborted(run, AbortSignal.any([signal, timeout])) };
    } catch (error) {
      signal.throwIfAborted();
      if (isOfWholeCell(error)) throw error;
      if (attempt >= ATTEMPTS || isFault(error))
        return { error: reasonOf(error, timeout.aborted, timeoutMs) };
    }
    await delay(FIRST_WAIT_MS * 2 ** (attempt - 1), undefined, { signal });
  }
}

/** Ends at the signal also where the work does not listen to it. */
async function untilAborted<Value>(
  run: (signal: AbortSignal) => Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  const { promise: aborted, reject } = withRejection();
  const onAbort = () => {
    reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([run(signal), aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function withRejection(): { promise: Promise<never>; reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<never>((_resolve, rejectPromise) => {
    reject = rejectPromise;
  });
  return { promise, reject };
}

function isOfWholeCell(error: unknown): boolean {
  return error instanceof DomainError && WHOLE_CELL.includes(error.code);
}

/** Asking again cannot help where the request itself is wrong. */
function isFault(error: unknown): boolean {
  return error instanceof DomainError && error.category === 'user';
}

function reasonOf(error: unknown, isTimeout: boolean, timeoutMs: number): string {
  if (isTimeout) return `timeout (${timeoutMs / 1000}s)`;
  return messageOf(error);
}
