import { setTimeout as delay } from 'node:timers/promises';
import type { TellWaiting } from '../core/concurrency/waiting-reasons';
import { DomainError } from '../core/errors';

export interface ReachingOptions {
  readonly signal: AbortSignal;
  /** Told why it waits, each time it asked in vain; null when it goes on. */
  readonly onWaiting?: TellWaiting;
  /** Milliseconds; default: of this machine. */
  readonly now?: () => number;
  readonly pause?: (signal: AbortSignal) => Promise<void>;
}

/** A service that is being started again, or moved, is back before; one that never was there has been refused by the command. */
const PATIENCE_MS = 300_000;
const PAUSE_MS = 1_000;

/**
 * What a service answers, which may be away: asked again for five minutes. Then, for good, the last `unreachable`. How often whoever
 * asks was killed meanwhile does not count.
 */
export async function untilReachable<Answer>(
  ask: () => Promise<Answer>,
  { signal, onWaiting, now = () => performance.now(), pause = aMoment }: ReachingOptions,
): Promise<Answer> {
  const since = now();
  for (;;) {
    try {
      const answer = await ask();
      onWaiting?.(null);
      return answer;
    } catch (error) {
      if (!isAway(error)) throw error;
      if (now() - since >= PATIENCE_MS) throw new DomainError(error.code, error.message, { cause: error });
      onWaiting?.(error.message);
      await pause(signal);
    }
  }
}

function isAway(error: unknown): error is DomainError {
  return error instanceof DomainError && error.code === 'unreachable' && error.retryable;
}

function aMoment(signal: AbortSignal): Promise<void> {
  return delay(PAUSE_MS, undefined, { signal });
}
