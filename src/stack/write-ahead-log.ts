import type { FileHandle } from 'node:fs/promises';
import { openIfThere } from './open-if-there';

/**
 * What the write-ahead log beside an SQLite database holds: pages that the database file may not have yet, as after a checkpoint
 * that ran out of space (https://www.sqlite.org/fileformat.html, "The Write-Ahead Log").
 */
export interface WriteAheadLog {
  /** The pages of the database after the last change in the log. */
  readonly pageCount: number;
  /** The pages that are read from the log, whatever the database file has in their place. */
  readonly pages: ReadonlySet<number>;
}

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The last bit says whether checksums are made of big-endian words. */
const MAGIC = 0x37_7f_06_82;
const FRAMES_AT_ONCE = 256;

/** Null where there is no log, or none with a finished change in it. */
export async function readWriteAheadLog(
  databaseFile: string,
  pageSize: number,
): Promise<WriteAheadLog | null> {
  const handle = await openIfThere(`${databaseFile}-wal`);
  if (handle === null) return null;
  try {
    const start = await readStart(handle, pageSize);
    return start === null ? null : await readFrames(handle, start);
  } finally {
    await handle.close();
  }
}

interface LogStart {
  readonly pageSize: number;
  /** Frames with others were written before the log was begun anew. */
  readonly salts: Buffer;
  readonly checksum: Checksum;
}

async function readStart(handle: FileHandle, pageSize: number): Promise<LogStart | null> {
  const header = Buffer.alloc(HEADER_BYTES);
  const { bytesRead } = await handle.read(header, 0, HEADER_BYTES, 0);
  const magic = header.readUInt32BE(0);
  if (bytesRead < HEADER_BYTES || (magic & ~1) !== MAGIC || header.readUInt32BE(8) !== pageSize) return null;
  const checksum = new Checksum((magic & 1) === 1);
  checksum.add(header.subarray(0, 24));
  return checksum.isAt(header, 24) ? { pageSize, salts: header.subarray(16, 24), checksum } : null;
}

/** Up to the first frame that is not whole; a change without the frame that ends it never was. */
async function readFrames(handle: FileHandle, { pageSize, salts, checksum }: LogStart) {
  let pageCount = 0;
  const pages = new Set<number>();
  let pending = new Set<number>();
  for await (const frame of framesOf(handle, FRAME_HEADER_BYTES + pageSize)) {
    const page = frame.readUInt32BE(0);
    // A log of zeros can be made to have right checksums, and with holes it has any length.
    if (page === 0) break;
    checksum.add(frame.subarray(0, 8));
    checksum.add(frame.subarray(FRAME_HEADER_BYTES));
    if (!frame.subarray(8, 16).equals(salts) || !checksum.isAt(frame, 16)) break;
    pending.add(page);
    const countAtEnd = frame.readUInt32BE(4);
    if (countAtEnd === 0) continue;
    pageCount = countAtEnd;
    for (const changed of pending) pages.add(changed);
    pending = new Set();
  }
  return pageCount === 0 ? null : { pageCount, pages };
}

/** Each is valid until the next one is asked for. */
async function* framesOf(handle: FileHandle, frameBytes: number): AsyncGenerator<Buffer> {
  const frames = Buffer.alloc(frameBytes * FRAMES_AT_ONCE);
  for (let position = HEADER_BYTES; ; position += frames.length) {
    const { bytesRead } = await handle.read(frames, 0, frames.length, position);
    if (bytesRead < frameBytes) return;
    for (let start = 0; start + frameBytes <= bytesRead; start += frameBytes) {
      yield frames.subarray(start, start + frameBytes);
    }
  }
}

/** The running sum that each frame ends: it covers all frames before it. */
class Checksum {
  private first = 0;
  private second = 0;

  constructor(private readonly isBigEndian: boolean) {}

  add(bytes: Buffer): void {
    let { first, second } = this;
    for (let index = 0; index < bytes.length; index += 8) {
      const one = this.isBigEndian ? bytes.readInt32BE(index) : bytes.readInt32LE(index);
      const two = this.isBigEndian ? bytes.readInt32BE(index + 4) : bytes.readInt32LE(index + 4);
      first = (first + one + second) | 0;
      second = (second + two + first) | 0;
    }
    this.first = first;
    this.second = second;
  }

  isAt(bytes: Buffer, offset: number): boolean {
    return bytes.readInt32BE(offset) === this.first && bytes.readInt32BE(offset + 4) === this.second;
  }
}
