import { closeSync, fstatSync, fsync, fsyncSync, ftruncateSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import type { TellWaiting } from '../core/concurrency/waiting-reasons';
import { DomainError } from '../core/errors';
import { copyLines } from './copy-lines';
import { JournalFence } from './journal-fence';
import { parseJsonObject } from './json-lines';
import type { RowKey } from './row-memory';
import { RowMemory } from './row-memory';
import { asStoreError } from './system-errors';

export interface JournalSpec<Row extends object> {
  readonly path: string;
  /** Number of this attempt; a higher one shuts out the lower. */
  readonly epoch: number;
  /** Rows with equal keys are one row: the first stays. A number where it counts up, as steps do: that costs no memory. */
  readonly keyOf: (row: Row) => RowKey;
  /** Rows of earlier attempts to keep; default all. */
  readonly keep?: (row: Row) => boolean;
  /** How many of the newest rows `get` and `rows` know; default all. */
  readonly remember?: number;
  /** Hears why rows wait for room, each time it is tried in vain, and null when all of them are written. */
  readonly onWaiting?: TellWaiting | undefined;
  /** Writes bytes and says how many; tests fill the disk with it. */
  readonly write?: (descriptor: number, bytes: Uint8Array) => number;
}

interface PatientAppend {
  readonly signal?: AbortSignal;
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
  /** As `append` for many, in one write; those that are there already are passed over. */
  appendAll(rows: readonly Row[]): void;
  /** As `append`, but waits for room. */
  appendWhenRoom(row: Row, options?: PatientAppend): Promise<boolean>;
  has(key: RowKey): boolean;
  /** A row among those remembered. */
  get(key: RowKey): Row | undefined;
  /** Those remembered, oldest first. */
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

/**
 * Takes the journal over for this attempt. Throws `superseded` when a later one has it.
 *
 * Rows are copied some at a time: a long journal neither fills the memory nor keeps others waiting.
 */
export async function openJournal<Row extends object>(spec: JournalSpec<Row>): Promise<Journal<Row>> {
  const fence = new JournalFence(spec.path, spec.epoch);
  fence.raise();
  const memory = new RowMemory<Row>(spec.remember);
  const source = fence.openNewest();
  const draft = fence.draft();
  try {
    const isKept = (line: string): boolean => isNewRow(spec, memory, line);
    if (source !== null)
      await inTurns(copyLines({ descriptor: source, path: spec.path }, draft.descriptor, isKept));
    await fsyncLater(draft.descriptor);
    fence.publish(draft);
  } catch (error) {
    fence.discard(draft);
    throw asStoreError(error, spec.path);
  } finally {
    if (source !== null) closeSync(source);
  }
  return new FencedJournal({ spec, fence, memory, descriptor: draft.descriptor });
}

interface Opened<Row extends object> {
  readonly spec: JournalSpec<Row>;
  readonly fence: JournalFence;
  readonly memory: RowMemory<Row>;
  readonly descriptor: number;
}

const RETRY_MS = 1000;
const fsyncLater = promisify(fsync);

class FencedJournal<Row extends object> implements Journal<Row> {
  private readonly spec: JournalSpec<Row>;
  private readonly fence: JournalFence;
  private readonly memory: RowMemory<Row>;
  private descriptor: number;
  private size: number;
  private syncedSize: number;
  private isClosed = false;
  /** Rows that wait for room. */
  private waitingCount = 0;

  constructor({ spec, fence, memory, descriptor }: Opened<Row>) {
    this.spec = spec;
    this.fence = fence;
    this.memory = memory;
    this.descriptor = descriptor;
    this.size = fstatSync(descriptor).size;
    this.syncedSize = this.size;
  }

  append(row: Row): boolean {
    const key = this.spec.keyOf(row);
    if (this.memory.has(key)) return false;
    this.writeLine(`${JSON.stringify(row)}\n`);
    this.memory.add(key, row);
    return true;
  }

  appendAll(rows: readonly Row[]): void {
    const fresh = new Map<RowKey, Row>();
    for (const row of rows) {
      const key = this.spec.keyOf(row);
      if (!this.memory.has(key) && !fresh.has(key)) fresh.set(key, row);
    }
    if (fresh.size === 0) return;
    let lines = '';
    for (const row of fresh.values()) lines += `${JSON.stringify(row)}\n`;
    this.writeLine(lines);
    for (const [key, row] of fresh) this.memory.add(key, row);
  }

  async appendWhenRoom(row: Row, { signal, retryMs = RETRY_MS }: PatientAppend = {}): Promise<boolean> {
    let outcome = this.tryToAppend(row);
    if (typeof outcome === 'boolean') return outcome;
    this.waitingCount += 1;
    try {
      while (typeof outcome !== 'boolean') {
        this.spec.onWaiting?.(outcome.message);
        await delay(retryMs, undefined, signal && { signal });
        this.verify();
        outcome = this.tryToAppend(row);
      }
      return outcome;
    } finally {
      this.waitingCount -= 1;
      if (this.waitingCount === 0) this.spec.onWaiting?.(null);
    }
  }

  has(key: RowKey): boolean {
    return this.memory.has(key);
  }

  get(key: RowKey): Row | undefined {
    return this.memory.get(key);
  }

  rows(): readonly Row[] {
    return this.memory.rows();
  }

  last(): Row | undefined {
    return this.memory.last();
  }

  verify(): void {
    this.fence.check();
    if (this.fence.isShown(fstatSync(this.descriptor, { bigint: true }).ino)) return;
    this.fence.raise();
    this.showAgain();
  }

  renew(epoch: number): boolean {
    return this.fence.renew(epoch, fstatSync(this.descriptor, { bigint: true }).ino);
  }

  async sync(): Promise<void> {
    const { size } = this;
    if (size === this.syncedSize) return;
    await fsyncLater(this.descriptor);
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

  /** A copy of the rows, which are in the open file whatever became of its name. At once: somebody is about to write. */
  private showAgain(): void {
    const displaced = this.descriptor;
    const draft = this.fence.draft();
    try {
      const from = { descriptor: displaced, path: this.spec.path };
      atOnce(copyLines(from, draft.descriptor, () => true));
      fsyncSync(draft.descriptor);
      this.fence.publish(draft);
    } catch (error) {
      this.fence.discard(draft);
      throw asStoreError(error, this.spec.path);
    }
    this.descriptor = draft.descriptor;
    this.size = fstatSync(draft.descriptor).size;
    this.syncedSize = this.size;
    closeSync(displaced);
  }

  /** As `append`; where there is no room, why. */
  private tryToAppend(row: Row): boolean | DomainError {
    try {
      return this.append(row);
    } catch (error) {
      if (error instanceof DomainError && error.code === 'store-full') return error;
      throw error;
    }
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

/** Whether a line is a row to be kept and none with its key came before it; it is remembered then. */
function isNewRow<Row extends object>(spec: JournalSpec<Row>, memory: RowMemory<Row>, line: string): boolean {
  const row = parseJsonObject<Row>(line);
  if (row === null) return false;
  const key = spec.keyOf(row);
  if (memory.has(key) || !(spec.keep?.(row) ?? true)) return false;
  memory.add(key, row);
  return true;
}

async function inTurns(work: Generator<void>): Promise<void> {
  while (work.next().done !== true) await nextTurn();
}

function atOnce(work: Generator<void>): void {
  while (work.next().done !== true);
}
