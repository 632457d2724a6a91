import type { ExampleUnit } from './shard-task';

/**
 * Units that are begun and have no place at the model yet. Some are kept ready, so that no place stays empty; more of them
 * would only take memory, for as long as others are asked.
 */
export class Intake {
  private readonly ready = new Set<ExampleUnit>();
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly most: number) {}

  /** Settles when another unit may be begun; null where it may at once. */
  whenRoom(): Promise<void> | null {
    if (this.ready.size < this.most) return null;
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  begin(unit: ExampleUnit): void {
    this.ready.add(unit);
  }

  /** It has its place, or is over without having had one. */
  leave(unit: ExampleUnit): void {
    if (this.ready.delete(unit)) this.wakeOne();
  }

  /** Whoever waits may look whether there is anything left to begin. */
  wakeOne(): void {
    this.waiting.shift()?.();
  }
}
