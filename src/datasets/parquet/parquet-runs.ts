import type { PageReader } from './parquet-page-reader';
import { damaged } from './parquet-page-reader';

/** Bit-packed runs go on to the end of their groups of eight; no writer has longer ones than 63 groups. */
const PADDING = 512;

/**
 * Levels or places in a dictionary, in runs of one value and of packed ones. A run that goes on beyond the values of its page is
 * refused: the reader would write it out, however long.
 */
export function readRuns(reader: PageReader, width: number, count: number): Uint32Array {
  if (width > 32) throw damaged('its values are too wide');
  const values = new Uint32Array(count);
  for (let seen = 0; seen < count;) {
    const header = reader.varint();
    const length = Math.floor(header / 2);
    const isPacked = header % 2 === 1;
    const runLength = isPacked ? length * 8 : length;
    if (runLength > count - seen + (isPacked ? PADDING : 0)) throw damaged('a run goes on beyond its values');
    if (isPacked) unpackBits(reader.take(length * width), width, values.subarray(seen, seen + runLength));
    else values.fill(reader.unsigned(Math.ceil(width / 8)), seen, seen + runLength);
    seen += runLength;
  }
  return values;
}

/** Numbers of so many bits each, the lowest first. */
export function unpackBits(reader: PageReader, width: number, output: Uint32Array): void {
  const size = 2 ** width;
  let [bits, bitCount] = [0, 0];
  for (let index = 0; index < output.length; index++) {
    for (; bitCount < width; bitCount += 8) bits += reader.byte() * 2 ** bitCount;
    output[index] = bits % size;
    bits = Math.floor(bits / size);
    bitCount -= width;
  }
}
