import type { OrderedQueue } from './ordered-queue';
import { ProtocolError } from './protocol-error';

const MOST_BYTES = 256 * 1024 * 1024;
/** Fewer than are remembered of accepted ones, see `AcceptedRequests`. */
const MOST_REQUESTS = 10_000;

/** What a model has been asked and not done yet. It bounds what a sender who never waits can make the engine hold. */
export class PendingWork {
  private count = 0;
  private bytes = 0;

  /** Throws 429 where there is too much. What everything else waits for is let in all the same. */
  requireRoom(queue: OrderedQueue, sequence: number, bytes: number): void {
    if (this.count < MOST_REQUESTS && this.bytes + bytes <= MOST_BYTES) return;
    if (this.count === queue.heldCount && queue.isNext(sequence)) return;
    throw new ProtocolError(
      429,
      `${this.count} requests of ${Math.round(this.bytes / 2 ** 20)} MiB to this model are waiting. Collect results before sending more.`,
    );
  }

  /** Until the work has settled. */
  hold(bytes: number, work: Promise<unknown>): void {
    this.count++;
    this.bytes += bytes;
    const release = (): void => {
      this.count--;
      this.bytes -= bytes;
    };
    work.then(release, release);
  }
}
