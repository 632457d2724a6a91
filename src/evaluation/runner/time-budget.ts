import { DomainError } from '../../core/errors';

const LEAST_MS = 1;

/** How long an example may still take. Waiting for capacity does not count. */
export class TimeBudget {
  private spentMs = 0;

  constructor(private readonly totalMs: number) {}

  get timeoutText(): string {
    return `timeout (${this.totalMs / 1000}s)`;
  }

  leftMs(): number {
    return Math.max(LEAST_MS, this.totalMs - this.spentMs);
  }

  spend(milliseconds: number): void {
    this.spentMs += milliseconds;
  }

  /** Throws `timed-out` when the work takes longer than is left; `callOff` is to end it, and whether it does is nobody's concern. */
  async bound<Value>(work: Promise<Value>, callOff: () => void): Promise<Value> {
    const startedAt = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        callOff();
        reject(new DomainError('timed-out', this.timeoutText));
      }, this.leftMs());
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      this.spend(performance.now() - startedAt);
    }
  }
}
