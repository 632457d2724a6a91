import type { Hash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';

const BUFFER_BYTES = 64 * 1024;
const LINE_BREAK = 10;

/** Writes lines some at a time, from one buffer that is used again. */
export class LineFile {
  /** Where the next line begins. */
  byteCount = 0;
  /** Hear what is written, with each write. */
  digests: readonly Hash[] = [];
  private readonly buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  private filled = 0;
  private hasWritten = false;

  constructor(private readonly descriptor: number) {}

  /** A line without its line break. */
  add(line: string): void {
    const length = Buffer.byteLength(line);
    const place = this.placeFor(length + 1);
    place.write(line);
    place[length] = LINE_BREAK;
    this.added(place);
  }

  /** Bytes that are lines already, which `read` puts where it is told. */
  addBytes(length: number, read: (into: Buffer) => void): void {
    const place = this.placeFor(length);
    read(place);
    this.added(place);
  }

  /** Others get the thread with every write. */
  whenWritten(): Promise<unknown> | null {
    if (!this.hasWritten) return null;
    this.hasWritten = false;
    return nextTurn();
  }

  /** Writes what waits. */
  write(): void {
    const { filled } = this;
    this.filled = 0;
    if (filled > 0) this.writeAll(this.buffer.subarray(0, filled));
  }

  private placeFor(length: number): Buffer {
    if (length > BUFFER_BYTES - this.filled) this.write();
    return length > BUFFER_BYTES
      ? Buffer.allocUnsafe(length)
      : this.buffer.subarray(this.filled, this.filled + length);
  }

  private added(place: Buffer): void {
    this.byteCount += place.length;
    if (place.length > BUFFER_BYTES) this.writeAll(place);
    else this.filled += place.length;
  }

  private writeAll(bytes: Buffer): void {
    for (const digest of this.digests) digest.update(bytes);
    let written = 0;
    while (written < bytes.length) written += writeSync(this.descriptor, bytes, written);
    this.hasWritten = true;
  }
}
