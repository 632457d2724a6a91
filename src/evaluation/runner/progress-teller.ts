import { rename, writeFile } from 'node:fs/promises';
import type { ShardCounts, ShardProgress } from '../../core/benchmark-run';
import { temporaryName } from '../../stores/whole-file';

const PROGRESS_MS = 1000;

/** Rewrites `progress.json` at most once a second. What cannot be written is left out: it tells, and decides nothing. */
export class ProgressTeller {
  private counts: ShardCounts | null = null;
  private isTold = true;
  private readonly timer: NodeJS.Timeout;
  private writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly path: string,
    private readonly now: () => Date,
  ) {
    this.timer = setInterval(() => {
      if (!this.isTold && this.counts) this.tell({ ...this.counts, isComplete: false });
    }, PROGRESS_MS);
  }

  note(counts: ShardCounts): void {
    this.counts = counts;
    this.isTold = false;
  }

  async end(counts: ShardCounts): Promise<void> {
    this.stop();
    this.tell({ ...counts, isComplete: true });
    await this.writing;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private tell(progress: Omit<ShardProgress, 'at'>): void {
    this.isTold = true;
    const text = `${JSON.stringify({ ...progress, at: this.now().toISOString() })}\n`;
    this.writing = this.writing.then(() => replaceFile(this.path, text)).catch(() => undefined);
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = temporaryName(path);
  await writeFile(temporary, text);
  await rename(temporary, path);
}
