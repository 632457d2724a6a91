import { closeSync, fstatSync, fsync, ftruncateSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { DomainError } from '../core/errors';
import { JournalFence } from './journal-fence';
import { parseJsonLines } from './json-lines';
import { asStoreError } from './system-errors';

export interface JournalSpec<Row extends object> {
  readonly path: string;
  /** Number of this attempt; a higher one shuts out the lower. */
  readonly epoch: number;
  /** Rows with equal keys are one row: the first stays. */
  readonly keyOf: (row: Row) => string;
  /** Rows of earlier attempts to keep; default all. */
  readonly keep?: (row: Row) => boolean;
  /** Writes bytes and says how many; tests fill the disk with it. */
  readonly write?: (descriptor: number, bytes: Uint8Array) => number;
}

interface PatientAppend {
  readonly signal?: AbortSignal;
  /** Called each time there was no room, before waiting. */
  readonly onWait?: (problem: DomainError) => void;
  readonly retryMs?: number;
}

/**
 * A JSONL file with one writer, which survives that writer's death and its coming back from the dead.
 *
 * Opening takes the file over: earlier attempts then write into a file nobody reads. Rows count as journalled when
 * `append` returns; `sync` also puts them beyond a power loss.
 */
export interface Journal<Row extends object> {
  /** False when a row with this key is there already. On a full disk throws `store-full` and leaves no trace of the row. */
  append(row: Row): boolean;
  /** As `append`, but waits for room. */
  appendWhenRoom(row: Row, options?: PatientAppend): Promise<boolean>;
  has(key: string): boolean;
  get(key: string): Row | undefined;
  rows(): readonly Row[];
  last(): Row | undefined;
  /** Throws `superseded` when a later attempt took over; repairs the file when something else displaced it. */
  verify(): void;
  /** Goes on as a later attempt without copying; false when somebody else had the journal in between: open it anew then. */
  renew(epoch: number): boolean;
  sync(): Promise<void>;
  /** Also syncs. */
  close(): Promise<void>;
}

/** Takes the journal over for this attempt. Throws `superseded` when a later one has it. */
// Asynchronous by contract, so that a store in a bucket can offer the same.
export async function openJournal<Row extends object>(spec: JournalSpec<Row>): Promise<Journal<Row>> {
  return new FencedJournal(spec);
}

const RETRY_MS = 1000;

class FencedJournal<Row extends object> implements Journal<Row> {
  private readonly fence: JournalFence;
  private readonly byKey = new Map<string, Row>();
  private descriptor: number;
  private size = 0;
  private syncedSize = 0;
  private newest: Row | undefined;
  private isClosed = false;

  constructor(private readonly spec: JournalSpec<Row>) {
    this.fence = new JournalFence(spec.path, spec.epoch);
    this.fence.raise();
    for (const row of parseJsonLines<Row>(this.fence.readNewest())) {
      const key = spec.keyOf(row);
      if (!this.byKey.has(key) && (spec.keep?.(row) ?? true)) this.remember(key, row);
    }
    this.descriptor = this.publish();
  }

  append(row: Row): boolean {
    const key = this.spec.keyOf(row);
    if (this.byKey.has(key)) return false;
    this.writeLine(`${JSON.stringify(row)}\n`);
    this.remember(key, row);
    return true;
  }

  async appendWhenRoom(row: Row, options: PatientAppend = {}): Promise<boolean> {
    for (;;) {
      try {
        return this.append(row);
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'store-full') throw error;
        options.onWait?.(error);
      }
      await delay(options.retryMs ?? RETRY_MS, undefined, options.signal && { signal: options.signal });
      this.verify();
    }
  }

  has(key: string): boolean {
    return this.byKey.has(key);
  }

  get(key: string): Row | undefined {
    return this.byKey.get(key);
  }

  rows(): readonly Row[] {
    return [...this.byKey.values()];
  }

  last(): Row | undefined {
    return this.newest;
  }

  verify(): void {
    this.fence.check();
    if (this.fence.isShown(fstatSync(this.descriptor, { bigint: true }).ino)) return;
    const displaced = this.descriptor;
    this.fence.raise();
    this.descriptor = this.publish();
    closeSync(displaced);
  }

  renew(epoch: number): boolean {
    return this.fence.renew(epoch, fstatSync(this.descriptor, { bigint: true }).ino);
  }

  async sync(): Promise<void> {
    const { size } = this;
    if (size === this.syncedSize) return;
    await promisify(fsync)(this.descriptor);
    this.syncedSize = size;
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    try {
      await this.sync();
    } finally {
      closeSync(this.descriptor);
    }
  }

  private remember(key: string, row: Row): void {
    this.byKey.set(key, row);
    this.newest = row;
  }

  private publish(): number {
    const lines = this.rows().map((row) => `${JSON.stringify(row)}\n`);
    const descriptor = this.fence.publish(lines.join(''));
    this.size = fstatSync(descriptor).size;
    // The fence syncs what it publishes.
    this.syncedSize = this.size;
    return descriptor;
  }

  private writeLine(line: string): void {
    const bytes = Buffer.from(line);
    const write = this.spec.write ?? writeSync;
    let written = 0;
    try {
      // One call as a rule; a file system short of room may take a part and refuse the rest.
      while (written < bytes.length) written += write(this.descriptor, bytes.subarray(written));
    } catch (error) {
      ftruncateSync(this.descriptor, this.size);
      throw asStoreError(error, this.spec.path);
    }
    this.size += bytes.length;
  }
}
