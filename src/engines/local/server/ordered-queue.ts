import { DomainError } from '../../../core/errors';
import { largestOf } from '../../../core/extremes';

/** Refused numbers that are remembered; any more of them hold back what follows until it is their turn. */
const MOST_REFUSED = 10_000;

type Job = () => Promise<void>;

interface Held {
  readonly run: Job;
  readonly reject: (reason: unknown) => void;
}

/**
 * Runs the requests of one model one at a time, by sequence number from 1 on.
 *
 * A request waits, for as long as it takes, until all lower ones have arrived. A number that was refused at the
 * door can still be filled by a corrected request, but holds nobody back.
 */
export class OrderedQueue {
  private next = 1;
  private readonly held = new Map<number, Held>();
  private readonly refused = new Set<number>();
  private tail: Promise<void> = Promise.resolve();
  private closedBecause: string | null = null;

  constructor(private readonly isOrdered: boolean) {}

  get heldCount(): number {
    return this.held.size;
  }

  /** True for the number that everything held waits for. */
  isNext(sequence: number): boolean {
    return sequence === this.next;
  }

  /** True when the queue has gone past this number, so that nothing can be filed under it any more. */
  hasPassed(sequence: number): boolean {
    return sequence < this.next;
  }

  /** The lower number that a held request waits for; null for one that does not wait. */
  missingBefore(sequence: number): number | null {
    return this.held.has(sequence) ? this.next : null;
  }

  /** The number after every one seen so far, for senders that give none. */
  following(): number {
    return Math.max(this.next - 1, largestOf(this.held.keys())) + 1;
  }

  submit<T>(sequence: number, work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = settling(work, resolve, reject);
      if (this.closedBecause !== null) {
        reject(unloaded(this.closedBecause));
      } else if (this.isOrdered && !this.hasPassed(sequence)) {
        this.refused.delete(sequence);
        this.held.set(sequence, { run, reject });
        this.advance();
      } else {
        this.next = Math.max(this.next, sequence + 1);
        this.append(run);
      }
    });
  }

  /** Runs after everything that could run by now, outside the numbering. */
  enqueue<T>(work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.append(settling(work, resolve, reject));
    });
  }

  refuse(sequence: number): void {
    if (!this.isOrdered || this.hasPassed(sequence) || this.held.has(sequence)) return;
    if (this.refused.size >= MOST_REFUSED && !this.isNext(sequence)) return;
    this.refused.add(sequence);
    this.advance();
  }

  /** What waits behind a gap fails; what could already run still does. */
  close(reason: string): void {
    this.closedBecause ??= reason;
    for (const { reject } of this.held.values()) reject(unloaded(reason));
    this.held.clear();
    this.refused.clear();
  }

  private advance(): void {
    for (;;) {
      const job = this.held.get(this.next);
      if (job) {
        this.held.delete(this.next);
        this.append(job.run);
      } else if (this.held.size === 0 || !this.refused.delete(this.next)) {
        return;
      }
      this.next++;
    }
  }

  private append(run: Job): void {
    this.tail = this.tail.then(run);
  }
}

/** A job that never throws: whatever happens goes to its own promise, and the next one runs. */
function settling<T>(
  work: () => Promise<T>,
  resolve: (value: T) => void,
  reject: (reason: unknown) => void,
): Job {
  return async () => {
    try {
      resolve(await work());
    } catch (error) {
      reject(error);
    }
  };
}

function unloaded(reason: string): DomainError {
  return new DomainError('session-lost', `The request was not executed: ${reason}.`, { category: 'user' });
}
