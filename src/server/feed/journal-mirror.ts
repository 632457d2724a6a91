import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { largestOf } from '../../core/extremes';
import { parseJsonObject } from '../../stores/json-lines';
import { LONGEST_ROW_BYTES } from '../../stores/line-limit';
import { openToRead } from '../../stores/reading';

const READ_BYTES = 1024 * 1024;
const LINE_BREAK = 10;
/** As much as is read of a journal elsewhere. */
const MOST_BYTES = 512 * READ_BYTES;

/** The file that rows are read from, and how far. */
interface Place {
  readonly identity: string;
  offset: number;
  /** Rows read from it. */
  rowCount: number;
  /** Pieces of a row whose end is not written yet; null where it is too long. */
  rest: Buffer[] | null;
}

const beginningOf = (identity: string): Place => ({ identity, offset: 0, rowCount: 0, rest: [] });

/**
 * The rows of one journal as they were told to others.
 *
 * A takeover writes a file of its own, whose first rows are those of the one before. It may for a moment have fewer, because
 * its rows are trained again, and equal ones are then no news. A row that differs from the one told in its place means that
 * the run was rewound: what was told from there on is void (`cuts`).
 */
export class JournalMirror {
  readonly lines: string[] = [];
  /** How many rows were left each time some became void, in the order it happened. */
  readonly cuts: number[] = [];
  private place = beginningOf('');

  constructor(
    private readonly folder: string,
    private readonly name: string,
  ) {}

  /** Reads what is new. `entries` are the names in the journal's folder. True where there was something. */
  async refresh(entries: readonly string[]): Promise<boolean> {
    const file = await openToRead(join(this.folder, this.newestOf(entries)));
    if (!file) return false;
    try {
      const stats = await file.stat({ bigint: true });
      this.enter(stats);
      const before = this.lines.length;
      const cutsBefore = this.cuts.length;
      while (await this.readSome(file)) {
        // On to the next piece.
      }
      return this.lines.length !== before || this.cuts.length !== cutsBefore;
    } finally {
      await file.close();
    }
  }

  /** The run is over: rows that its last file does not have will not come any more. */
  settle(): void {
    if (this.place.rowCount < this.lines.length) this.cut(this.place.rowCount);
  }

  /** The newest generation, which a late rename of an older attempt cannot hide; else the journal itself. */
  private newestOf(entries: readonly string[]): string {
    const prefix = `.${this.name}.generation-`;
    const epochs = entries
      .filter((entry) => entry.startsWith(prefix) && /^\d+$/.test(entry.slice(prefix.length)))
      .map((entry) => Number(entry.slice(prefix.length)));
    return epochs.length === 0 ? this.name : `${prefix}${largestOf(epochs)}`;
  }

  private enter({ ino, birthtimeNs, size }: BigIntStats): void {
    const identity = `${ino}:${birthtimeNs}`;
    const isSame = identity === this.place.identity && size >= BigInt(this.place.offset);
    if (!isSame) this.place = beginningOf(identity);
  }

  private async readSome(file: FileHandle): Promise<boolean> {
    const { place } = this;
    if (place.offset >= MOST_BYTES) return false;
    const { bytesRead, buffer } = await file.read(Buffer.alloc(READ_BYTES), 0, READ_BYTES, place.offset);
    if (bytesRead === 0) return false;
    place.offset += bytesRead;
    this.take(buffer.subarray(0, bytesRead));
    return bytesRead === READ_BYTES;
  }

  /** Once a piece, however long the row is that it belongs to. */
  private take(bytes: Buffer): void {
    const { place } = this;
    const end = bytes.lastIndexOf(LINE_BREAK) + 1;
    if (end > 0) {
      const first = place.rest === null ? bytes.indexOf(LINE_BREAK) + 1 : 0;
      const rows = Buffer.concat([...(place.rest ?? []), bytes.subarray(first, end)]);
      place.rest = [];
      for (const line of rows.toString('utf8').split('\n')) this.accept(line);
    }
    place.rest?.push(Buffer.from(bytes.subarray(end)));
    // Of a longer one nothing is kept, and it counts as none.
    if (place.rest !== null && lengthOf(place.rest) > LONGEST_ROW_BYTES) place.rest = null;
  }

  private accept(line: string): void {
    if (line === '' || parseJsonObject(line) === null) return;
    const index = this.place.rowCount++;
    if (this.lines[index] === line) return;
    if (index < this.lines.length) this.cut(index);
    this.lines.push(line);
  }

  private cut(count: number): void {
    this.lines.length = count;
    this.cuts.push(count);
  }
}

function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}
