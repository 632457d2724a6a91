/** An additive step is this part of the ceiling, so that a large window recovers in as many rounds as a small one. */
const STEPS_TO_CEILING = 20;

/**
 * How many requests a server is believed to take at once: additive increase, multiplicative decrease.
 *
 * A server that is full refuses all that are on their way, so only a request sent after the last cut can cut again.
 */
export class AdaptiveWindow {
  private size: number;
  private cutAt = -Infinity;
  /** Cuts without an answer in between. */
  private cutCount = 0;

  constructor(private ceiling: number) {
    this.size = ceiling;
  }

  get limit(): number {
    return Math.max(1, Math.floor(this.size));
  }

  get cutsInARow(): number {
    return this.cutCount;
  }

  setCeiling(ceiling: number): void {
    const isWhole = this.size >= this.ceiling;
    this.ceiling = ceiling;
    this.size = isWhole ? ceiling : Math.min(this.size, ceiling);
  }

  /** Grows by one step for a window of answers; only where the window was what held requests back. */
  answered(sentAt: number, isFull: boolean): void {
    if (sentAt < this.cutAt) return;
    this.cutCount = 0;
    if (!isFull || this.size >= this.ceiling) return;
    const step = Math.max(1, this.ceiling / STEPS_TO_CEILING);
    this.size = Math.min(this.ceiling, this.size + step / this.size);
  }

  /** Halves what was in use; false where this refusal belongs to a cut that was made already. */
  refused(sentAt: number, { now, inUse }: { readonly now: number; readonly inUse: number }): boolean {
    if (sentAt < this.cutAt) return false;
    this.size = Math.max(1, Math.floor(Math.min(this.size, inUse) / 2));
    this.cutAt = now;
    this.cutCount += 1;
    return true;
  }
}
