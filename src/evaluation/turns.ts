import type { Sampler } from '../core/sampling';

/**
 * Gives its callers the event loop one after the other, with everything else that is ready in between.
 *
 * An evaluation has dozens of examples under way. Answers that come at the same time would be worked on in one go, and a
 * training step on the same worker would wait for all of them instead of one.
 */
export class Turns {
  private readonly waiting: (() => void)[] = [];
  private isGiving = false;

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      if (!this.isGiving) this.giveSoon();
    });
  }

  private giveSoon(): void {
    this.isGiving = true;
    // One in each round of the loop: those set in one round would all run in the next.
    setImmediate(() => {
      this.waiting.shift()?.();
      this.isGiving = false;
      if (this.waiting.length > 0) this.giveSoon();
    });
  }
}

/** Sends one request a turn. An answer is handed on at once: it is paid for, and not safe before it is journalled. */
export function samplerInTurns(sampler: Sampler): Sampler {
  const turns = new Turns();
  return {
    async sample(request, options) {
      await turns.next();
      return sampler.sample(request, options);
    },
  };
}
