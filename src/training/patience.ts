import type { Waiting } from '../engines/tinker/waiting';
import type { PatientSignal } from './segment-contract';

/** What a run waits for whose service asks for payment. */
export const UNPAID = 'billing: the balance of the account is used up (402); add credit to it';

/**
 * How long a segment lets a service keep it waiting (no capacity, no answer) before it hands the wait to the run,
 * which shows it in its status.
 */
export class Patience {
  private watched: {
    readonly controller: AbortController;
    timer: NodeJS.Timeout | null;
    reason: string | null;
  } | null = null;

  constructor(private readonly limitMs: number) {}

  /** Told by the client whenever it begins or ends to wait. */
  readonly onWait = (waiting: Waiting | null): void => {
    const { watched } = this;
    if (!watched) return;
    if (watched.timer) clearTimeout(watched.timer);
    watched.timer = null;
    if (waiting === null) return;
    watched.timer = setTimeout(() => {
      watched.reason = describe(waiting);
      watched.controller.abort();
    }, this.limitMs);
  };

  /** Watches until the returned `stop` is called; one watch at a time. */
  watch(): PatientSignal & { stop(): void } {
    const watched = { controller: new AbortController(), timer: null, reason: null };
    this.watched = watched;
    return {
      signal: watched.controller.signal,
      reason: () => this.reasonOf(watched),
      stop: () => {
        this.onWait(null);
        this.watched = null;
      },
    };
  }

  private reasonOf(watched: { readonly reason: string | null }): string | null {
    return watched.reason;
  }
}

function describe({ what, queueState }: Waiting): string {
  if (what === 'billing') return UNPAID;
  return queueState === undefined || queueState === 'active' ? what : `${what} (${queueState})`;
}
