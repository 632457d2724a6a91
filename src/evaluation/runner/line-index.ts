import { closeSync, readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LONGEST_ROW_BYTES } from '../../stores/line-limit';
import { openToReadSync } from '../../stores/reading';
import type { LineSlice } from './line-slices';
import { lineSlices } from './line-slices';

interface Place {
  readonly offset: number;
  readonly length: number;
}

type KeyOf = (line: LineSlice) => string | null;

/** Others get the thread after so many lines. */
const LINES_A_TURN = 500;

/** Lines of a file by their keys, read when they are asked for: only their places are in memory. */
export class LineIndex {
  private readonly places = new Map<string, Place>();

  private constructor(private readonly descriptor: number | null) {}

  /** A file that is not there has no lines. Of lines with equal keys the first counts. */
  static async open(path: string, keyOf: KeyOf): Promise<LineIndex> {
    const index = new LineIndex(openToReadSync(path));
    try {
      await index.read(path, keyOf);
      return index;
    } catch (error) {
      index.close();
      throw error;
    }
  }

  keys(): Iterable<string> {
    return this.places.keys();
  }

  get(key: string): string | null {
    const place = this.places.get(key);
    if (!place || this.descriptor === null) return null;
    const bytes = Buffer.allocUnsafe(place.length);
    readSync(this.descriptor, bytes, 0, place.length, place.offset);
    return bytes.toString('utf8');
  }

  close(): void {
    if (this.descriptor !== null) closeSync(this.descriptor);
  }

  private async read(path: string, keyOf: KeyOf): Promise<void> {
    const { descriptor } = this;
    if (descriptor === null) return;
    const readAt = (into: Buffer, position: number) => readSync(descriptor, into, 0, into.length, position);
    let count = 0;
    for (const line of lineSlices(
      { path, mostBytes: LONGEST_ROW_BYTES, readAt },
      { offset: 0, bytes: Infinity },
    )) {
      const key = keyOf(line);
      const { start, end, offset } = line;
      if (key !== null && !this.places.has(key)) this.places.set(key, { offset, length: end - start });
      if (++count % LINES_A_TURN === 0) await nextTurn();
    }
  }
}
