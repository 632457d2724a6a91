/**
 * Says in the worker process that wrote to the store that something new is there, so that whoever waits for it looks at once.
 * Other processes look every few milliseconds: nothing depends on it.
 */
export class StoreNews {
  private told = 0;
  private readonly waiting = new Set<() => void>();

  /** To be asked for before one looks: `wait` then misses nothing that is told meanwhile. */
  get toldCount(): number {
    return this.told;
  }

  tell(): void {
    this.told += 1;
    for (const wake of [...this.waiting]) wake();
  }

  /** Resolves when more was told than `seenCount`, or after the time; throws when the signal fires. */
  async wait(seenCount: number, limitMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.told !== seenCount) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, limitMs);
      this.waiting.add(wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
    signal?.throwIfAborted();
  }
}
