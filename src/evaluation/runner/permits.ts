import { smallestOf } from '../../core/extremes';

/**
 * How many requests may be under way at a model, whoever in this process makes them.
 *
 * A lower rank is served first: of two shards the earlier one, so that the later one fills the places that the earlier
 * one leaves free at its end, and no place is ever empty between them.
 */
export class Permits {
  private readonly waiting = new Map<number, (() => void)[]>();
  private takenCount = 0;

  constructor(private readonly limit: number) {}

  /** null where there is a place at once. */
  take(rank: number): Promise<void> | null {
    if (this.takenCount < this.limit) {
      this.takenCount += 1;
      return null;
    }
    return new Promise((resolve) => {
      const line = this.waiting.get(rank);
      if (line) line.push(resolve);
      else this.waiting.set(rank, [resolve]);
    });
  }

  give(): void {
    const next = this.nextWaiting();
    if (next) next();
    else this.takenCount -= 1;
  }

  private nextWaiting(): (() => void) | undefined {
    const [first] = this.waiting.keys();
    if (first === undefined) return undefined;
    const rank = this.waiting.size === 1 ? first : smallestOf(this.waiting.keys());
    const line = this.waiting.get(rank) ?? [];
    const next = line.shift();
    if (line.length === 0) this.waiting.delete(rank);
    return next;
  }
}

/** Permits by what they are for, of one process; whoever wants another limit has permits of their own. */
export function createPermitPool(): (subject: string, limit: number) => Permits {
  const pool = new Map<string, Permits>();
  return (subject, limit) => {
    const key = `${limit} ${subject}`;
    const permits = pool.get(key) ?? new Permits(limit);
    pool.set(key, permits);
    return permits;
  };
}
