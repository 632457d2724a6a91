import { RequestError } from '../http/request-error';

export interface AdmissionLimits {
  /** Requests answered at once. */
  readonly running: number;
  /** Requests that wait for those; more are sent away. */
  readonly waiting: number;
}

interface Waiter {
  readonly enter: () => void;
}

const RETRY_AFTER_SECONDS = 1;

/** Lets some requests in at once, has some wait in the order they came, and sends the rest away to come again. */
export class Admission {
  private readonly queue = new Set<Waiter>();
  private runningCount = 0;

  constructor(private readonly limits: AdmissionLimits) {}

  async run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    await this.enter(signal);
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  private async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.runningCount < this.limits.running) {
      this.runningCount += 1;
      return;
    }
    if (this.queue.size >= this.limits.waiting) throw tooBusy();
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        this.queue.delete(waiter);
        reject(new Error('whoever asked has gone'));
      };
      const waiter: Waiter = {
        enter: () => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      this.queue.add(waiter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** A place is handed on, so that nobody who comes now can overtake those who wait. */
  private leave(): void {
    const [next] = this.queue;
    if (!next) {
      this.runningCount -= 1;
      return;
    }
    this.queue.delete(next);
    next.enter();
  }
}

function tooBusy(): RequestError {
  return new RequestError(429, {
    message: 'Too many requests are waiting already. Ask again in a moment, or with fewer at once.',
    code: 'rate_limit_exceeded',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
