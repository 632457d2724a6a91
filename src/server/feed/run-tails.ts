import type { RunTail } from './run-tail';

interface Followed {
  readonly tail: RunTail;
  followerCount: number;
}

/** The runs that somebody follows. What is followed by many is watched once, and by nobody not at all. */
export class RunTails {
  private readonly followed = new Map<string, Followed>();

  /** `key` tells runs apart, also those of one name. */
  async follow(key: string, start: () => RunTail, use: (tail: RunTail) => Promise<void>): Promise<void> {
    const present = this.followed.get(key);
    // Who comes after the end gets a look of their own: it may have been written to since.
    const entry = present && !present.tail.isOver ? present : { tail: start(), followerCount: 0 };
    this.followed.set(key, entry);
    entry.followerCount += 1;
    try {
      await use(entry.tail);
    } finally {
      entry.followerCount -= 1;
      if (entry.followerCount === 0) {
        if (this.followed.get(key) === entry) this.followed.delete(key);
        await entry.tail.stop();
      }
    }
  }

  get watchedCount(): number {
    return this.followed.size;
  }
}
