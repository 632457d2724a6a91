/**
 * How long one endpoint has given nothing but failures, to all who use it in this process.
 *
 * Without it each request would find out by itself, one patience after the other.
 */
export class Outage {
  private since: number | null = null;
  private lastAt = -Infinity;
  private answeredAt = -Infinity;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** The server said something else than a failure. */
  ended(): void {
    this.since = null;
  }

  /** The server gave what it was asked for. */
  answered(): void {
    this.answeredAt = this.now();
  }

  /** Whether somebody was given what they asked for since a time on the same clock. */
  hasAnsweredSince(time: number): boolean {
    return this.answeredAt >= time;
  }

  /** Notes a failure; true where there were only failures for longer than `patienceMs`. */
  isExhausted(patienceMs: number): boolean {
    const now = this.now();
    // Failures long ago tell nothing about a new one.
    if (this.since === null || now - this.lastAt > patienceMs) this.since = now;
    this.lastAt = now;
    return now - this.since >= patienceMs;
  }
}
