import { setTimeout as delay } from 'node:timers/promises';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import { DomainError } from '../../core/errors';
import type { Journal } from '../../stores/fenced-journal';

const WRITE_AFTER_MS = 40;
const MOST_ROWS = 512;
const NO_ROOM_RETRY_MS = 1000;
/** Looking whether a later attempt has taken over costs a tenth of a millisecond. */
const VERIFY_EVERY_MS = 20;

export interface RowWriterOptions {
  /** Ends the waiting for room. */
  readonly signal: AbortSignal;
  /** Hears once what keeps rows from being written for good. */
  readonly onFailure: (error: unknown) => void;
  /** Hears why rows wait for room, each time it is tried in vain, and null when they are written. */
  readonly onWaiting?: TellWaiting | undefined;
  /** What rows here refer to: rows added there before are written before. */
  readonly after?: Pick<RowWriter<{ readonly key: string }>, 'flush' | 'hasFailed'>;
}

/**
 * Writes rows to a journal in few writes: what is added is in the file some hundredths of a second later. A full disk is
 * waited for.
 */
export class RowWriter<Row extends { readonly key: string }> {
  private waiting: Row[] = [];
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> = Promise.resolve();
  private verifiedAt = Number.NEGATIVE_INFINITY;
  private hasEnded = false;
  private isWithoutRoom = false;
  /** Rows are lost that were added. */
  hasFailed = false;

  constructor(
    private readonly journal: Journal<Row>,
    private readonly options: RowWriterOptions,
  ) {}

  add(row: Row): void {
    // An attempt that has failed may still hear an answer or two.
    if (this.hasEnded) return;
    this.waiting.push(row);
    if (this.waiting.length === MOST_ROWS) void this.flush();
    else this.timer ??= setTimeout(() => void this.flush(), WRITE_AFTER_MS);
  }

  /** Throws `superseded` where a later attempt has taken over, so that nothing more is paid for. */
  verify(): void {
    const now = performance.now();
    if (now - this.verifiedAt < VERIFY_EVERY_MS) return;
    this.verifiedAt = now;
    this.journal.verify();
  }

  /** null where rows are written as they come; else what to wait for before more is asked for. */
  whenRoom(): Promise<void> | null {
    return this.isWithoutRoom ? this.writing : null;
  }

  /** Settles when everything added so far is in the file, or could not be written. */
  flush(): Promise<void> {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    this.writing = this.writing.then(() => this.write());
    return this.writing;
  }

  /** Writes what is left and takes nothing more. */
  async end(): Promise<void> {
    await this.flush();
    this.hasEnded = true;
    if (this.timer) clearTimeout(this.timer);
  }

  private async write(): Promise<void> {
    const rows = this.waiting;
    this.waiting = [];
    const { after } = this.options;
    try {
      // Rows that came meanwhile may refer to others that are not written yet, so those here were taken first.
      if (after) await after.flush();
      if (after?.hasFailed) return;
      for (let full = this.tryToWrite(rows); full !== null; full = this.tryToWrite(rows)) {
        this.isWithoutRoom = true;
        this.options.onWaiting?.(full.message);
        await delay(NO_ROOM_RETRY_MS, undefined, { signal: this.options.signal });
      }
      if (this.isWithoutRoom) this.options.onWaiting?.(null);
      this.isWithoutRoom = false;
    } catch (error) {
      this.hasEnded = true;
      this.hasFailed = true;
      this.options.onFailure(error);
    }
  }

  /** Why there is no room for now; null where they are written. */
  private tryToWrite(rows: readonly Row[]): DomainError | null {
    if (this.hasEnded) return null;
    try {
      this.journal.appendAll(rows);
      return null;
    } catch (error) {
      if (error instanceof DomainError && error.code === 'store-full') return error;
      throw error;
    }
  }
}
