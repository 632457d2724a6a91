import type { LongestWait, OnWait, Waiting } from '../engines/tinker/waiting';
import type { PatientSignal } from './segment-contract';

/** What a run waits for whose service asks for payment. */
export const UNPAID = 'billing: the balance of the account is used up (402); add credit to it';

/**
 * How long a segment lets a service keep it waiting (no capacity, no answer) before it hands the wait to the run,
 * which shows it in its status. It is the call that waits longest that counts: others may begin and end to wait meanwhile.
 */
export class Patience {
  private watched: Watched | null = null;
  private longest: LongestWait | null = null;

  constructor(private readonly limitMs: number) {}

  /** Told by the client whenever it begins or ends to wait. */
  readonly onWait: OnWait = (_waiting, longest) => {
    this.longest = longest;
    this.startTimer();
  };

  /** Watches until the returned `stop` is called. The newest watch is told; an attempt before it ends without it. */
  watch(): PatientSignal & { stop(): void } {
    const watched: Watched = {
      controller: new AbortController(),
      since: performance.now(),
      timer: undefined,
      reason: null,
    };
    if (this.watched) stopTimer(this.watched);
    this.watched = watched;
    this.startTimer();
    return {
      signal: watched.controller.signal,
      reason: () => watched.reason,
      stop: () => {
        stopTimer(watched);
        if (this.watched === watched) this.watched = null;
      },
    };
  }

  private startTimer(): void {
    const { watched, longest, limitMs } = this;
    if (!watched) return;
    stopTimer(watched);
    if (longest === null) return;
    const waitedMs = performance.now() - Math.max(longest.since, watched.since);
    watched.timer = setTimeout(
      () => {
        watched.reason = describe(longest.waiting);
        watched.controller.abort();
      },
      Math.max(0, limitMs - waitedMs),
    );
  }
}

interface Watched {
  readonly controller: AbortController;
  /** When it was begun. */
  readonly since: number;
  timer: NodeJS.Timeout | undefined;
  reason: string | null;
}

function stopTimer(watched: Watched): void {
  clearTimeout(watched.timer);
  watched.timer = undefined;
}

function describe({ what, queueState }: Waiting): string {
  if (what === 'billing') return UNPAID;
  return queueState === undefined || queueState === 'active' ? what : `${what} (${queueState})`;
}
