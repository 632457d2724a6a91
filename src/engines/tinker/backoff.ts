import { setTimeout as sleep } from 'node:timers/promises';

const LONGEST_DELAY_MS = 10_000;
const LONGEST_RETRY_AFTER_MS = 60_000;

/** Doubles with each attempt, with up to a quarter of jitter so that clients do not knock together. */
export function backoffMs(attemptCount: number, initialMs: number): number {
  return Math.min(LONGEST_DELAY_MS, initialMs * 2 ** Math.min(attemptCount, 20)) * (1 - Math.random() / 4);
}

/** What the server asks for in `retry-after-ms` or `retry-after` (seconds), if it is reasonable. */
export function retryAfterMs(headers: Readonly<Record<string, string>>): number | null {
  const milliseconds = Number(headers['retry-after-ms'] ?? Number(headers['retry-after']) * 1000);
  return milliseconds >= 0 && milliseconds <= LONGEST_RETRY_AFTER_MS ? milliseconds : null;
}

/** Rejects with the signal's reason when aborted. */
export async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(milliseconds, undefined, signal ? { signal } : {});
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
