/**
 * At most `limit` pieces of work at once, in the order they came.
 *
 * Uses promises only — no timers, no clock — so workflows may use it.
 */
export class Slots {
  private readonly waiting: (() => void)[] = [];
  private used = 0;

  constructor(private readonly limit: number) {}

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.used >= this.limit) await new Promise<void>((next) => this.waiting.push(next));
    else this.used += 1;
    try {
      return await work();
    } finally {
      // A slot is handed on, so that nobody who comes now can overtake those who wait.
      const next = this.waiting.shift();
      if (next) next();
      else this.used -= 1;
    }
  }
}
