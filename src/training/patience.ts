import type { Waiting } from '../engines/tinker/waiting';
import type { PatientSignal } from './segment-contract';

/** What a run waits for whose service asks for payment. */
export const UNPAID = 'billing: the balance of the account is used up (402); add credit to it';

/**
 * How long a segment lets a service keep it waiting (no capacity, no answer) before it hands the wait to the run,
 * which shows it in its status.
 */
export class Patience {
  private watched: Watched | null = null;

  constructor(private readonly limitMs: number) {}

  /** Told by the client whenever it begins or ends to wait. */
  readonly onWait = (waiting: Waiting | null): void => {
    const { watched } = this;
    if (!watched) return;
    stopTimer(watched);
    if (waiting === null) return;
    watched.timer = setTimeout(() => {
      watched.reason = describe(waiting);
      watched.controller.abort();
    }, this.limitMs);
  };

  /** Watches until the returned `stop` is called. The newest watch is told; an attempt before it ends without it. */
  watch(): PatientSignal & { stop(): void } {
    const watched: Watched = { controller: new AbortController(), timer: undefined, reason: null };
    if (this.watched) stopTimer(this.watched);
    this.watched = watched;
    return {
      signal: watched.controller.signal,
      reason: () => watched.reason,
      stop: () => {
        stopTimer(watched);
        if (this.watched === watched) this.watched = null;
      },
    };
  }
}

interface Watched {
  readonly controller: AbortController;
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
