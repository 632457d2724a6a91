import type { Logger } from 'pino';
import { pause } from '../../client/pause';
import type { RunReport } from '../../client/run-report';
import { isClosed } from '../../client/run-report';
import { namesIn } from '../../stores/folder-names';
import type { FeedEvent } from './feed-cursor';
import { FEED_JOURNALS } from './feed-cursor';
import type { FeedSource } from './feed-reader';
import { JournalMirror } from './journal-mirror';

export interface TailOptions {
  /** Digest of the run's owner. */
  readonly owner: string;
  readonly folder: string;
  readonly readStatus: () => Promise<RunReport | null>;
  readonly logger: Logger;
  readonly pollMs?: number;
  readonly statusMs?: number;
}

const POLL_MS = 250;
const STATUS_MS = 1000;

/** One run, watched once for all who follow it: its files several times a second, its status every second. */
export class RunTail implements FeedSource {
  readonly owner: string;
  readonly mirrors: FeedSource['mirrors'];
  status: RunReport | null = null;
  /** The run has ended and everything was read. */
  isOver = false;
  private readonly listeners = new Set<() => void>();
  private readonly stopping = new AbortController();
  private readonly work: Promise<void>;
  private statusAt = Number.NEGATIVE_INFINITY;
  private version = 0;
  private warnedOf: string | null = null;

  constructor(private readonly options: TailOptions) {
    this.owner = options.owner;
    this.mirrors = mirrorsOf(options.folder);
    this.work = this.watch();
  }

  /** A number that moves on with every change. */
  get state(): number {
    return this.version;
  }

  /** Resolves when something is new since `state`, or the signal fires. */
  async changed(state: number, signal: AbortSignal): Promise<void> {
    if (this.version !== state || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.listeners.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.listeners.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.work;
  }

  private async watch(): Promise<void> {
    const { logger, pollMs = POLL_MS } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted && !this.isOver) {
      try {
        await this.look();
      } catch (error) {
        // A disk that is away may come back; what was told stays true.
        this.warnOnce(logger, error);
      }
      await pause(pollMs, signal);
    }
  }

  /** It is tried again several times a second. */
  private warnOnce(logger: Logger, error: unknown): void {
    const reason = String(error);
    if (reason === this.warnedOf) return;
    this.warnedOf = reason;
    logger.warn({ err: error, folder: this.options.folder }, 'cannot read a run that is followed');
  }

  private async look(): Promise<void> {
    const isClosing = await this.lookAtStatus();
    // Rows are complete before the status says that the run is closed.
    let isNew = await this.lookAtFiles();
    if (isClosing) {
      for (const mirror of Object.values(this.mirrors)) mirror.settle();
      this.isOver = true;
      isNew = true;
    }
    if (isNew || this.version === 0) this.tell();
  }

  /** True where the run has ended. */
  private async lookAtStatus(): Promise<boolean> {
    const { readStatus, statusMs = STATUS_MS } = this.options;
    if (performance.now() - this.statusAt < statusMs) return false;
    const status = await readStatus();
    this.statusAt = performance.now();
    const isNew = textOf(status) !== textOf(this.status);
    const isClosing = status !== null && isClosed(status);
    this.status = status;
    // How it ended is told after its last rows.
    if (isNew && !isClosing && this.version > 0) this.tell();
    return isClosing;
  }

  private async lookAtFiles(): Promise<boolean> {
    const entries = await namesIn(this.options.folder);
    let isNew = false;
    for (const mirror of Object.values(this.mirrors)) isNew = (await mirror.refresh(entries)) || isNew;
    return isNew;
  }

  private tell(): void {
    this.version += 1;
    for (const listener of [...this.listeners]) listener();
  }
}

/** Since when nobody answers is said anew with every question, and is no news. */
export function textOf(status: RunReport | null): string {
  return JSON.stringify(status && { ...status, waitingFor: status.waitingFor?.what ?? null });
}

function mirrorsOf(folder: string): FeedSource['mirrors'] {
  const mirror = (event: FeedEvent) =>
    new JournalMirror(folder, FEED_JOURNALS.find((journal) => journal.event === event)?.file ?? '');
  return {
    control: mirror('control'),
    step: mirror('step'),
    checkpoint: mirror('checkpoint'),
    score: mirror('score'),
    event: mirror('event'),
  };
}
