import { lineTooLong } from '../../stores/line-limit';

/** A line among others in a buffer that is used again: what is taken from it has to be taken before the next one comes. */
export interface LineSlice {
  readonly bytes: Buffer;
  readonly start: number;
  /** Where its line break is. */
  readonly end: number;
  /** Where it begins in the file. */
  readonly offset: number;
}

/** A stretch of a file. */
export interface Stretch {
  readonly offset: number;
  readonly bytes: number;
}

/** A file to read lines of. */
export interface LineSource {
  readonly path: string;
  /** Of one line. */
  readonly mostBytes: number;
  /** Fills what is given to it from a place in the file, and says with how many bytes. */
  readonly readAt: (into: Buffer, position: number) => number;
}

const SLICE_BYTES = 64 * 1024;
const LINE_BREAK = 10;

/**
 * Lines of a stretch of a file, a slice of it at a time, so that neither the file nor its lines are in memory. A last line
 * without its line break is left out. A file with a line that is too long is refused by its path.
 */
export function* lineSlices({ path, mostBytes, readAt }: LineSource, stretch: Stretch): Generator<LineSlice> {
  let buffer = Buffer.allocUnsafeSlow(SLICE_BYTES);
  let position = stretch.offset;
  const limit = stretch.offset + stretch.bytes;
  for (let held = 0; ;) {
    if (held >= mostBytes) throw lineTooLong(path, mostBytes);
    // A line that is longer than what was read so far.
    if (held === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2);
    const count = readAt(
      buffer.subarray(held, held + Math.min(buffer.length - held, limit - position)),
      position,
    );
    if (count === 0) return;
    position += count;
    const bytes = buffer.subarray(0, held + count);
    let start = 0;
    for (let end = bytes.indexOf(LINE_BREAK, held); end >= 0; end = bytes.indexOf(LINE_BREAK, start)) {
      yield { bytes, start, end, offset: position - bytes.length + start };
      start = end + 1;
    }
    bytes.copyWithin(0, start);
    held = bytes.length - start;
  }
}
