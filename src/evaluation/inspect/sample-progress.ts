import type { BenchmarkPlace } from '../../core/benchmark-run';
import { NO_COUNTS } from '../../core/benchmark-run';
import { writeJson } from '../../stores/whole-file';
import { progressPath } from '../runner/benchmark-plan';
import type { SampleCount } from './run/inspect-process';

const INTERVAL_MS = 1000;

/** Writes `progress.json` while Inspect runs, at most once a second. How the samples do is known when all are done. */
export class SampleProgress {
  private writing = Promise.resolve();
  private timer: NodeJS.Timeout | null = null;
  private latest: SampleCount = { done: 0, total: 0 };

  constructor(
    private readonly place: BenchmarkPlace,
    private readonly now: () => Date,
  ) {}

  note(count: SampleCount): void {
    this.latest = count;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.writing = this.writing.then(() => this.write());
    }, INTERVAL_MS);
  }

  /** After this nothing is written any more. */
  async end(): Promise<void> {
    if (this.timer) clearTimeout(this.timer);
    await this.writing;
  }

  private async write(): Promise<void> {
    const told = { ...NO_COUNTS, ...this.latest, isComplete: false, at: this.now().toISOString() };
    // What is only shown stops nothing: the result is written where a full disk is an error.
    await writeJson(progressPath(this.place, 0), told).catch(() => undefined);
  }
}
