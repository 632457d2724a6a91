import type { PageReader } from './parquet-page-reader';
import { damaged } from './parquet-page-reader';
import { unpackBits } from './parquet-runs';

/** Passes over integers that are written by what each is more than the one before. Other sizes would lead the reader in circles. */
export function skipDeltas(reader: PageReader, count: number): void {
  const { sizes } = readHeader(reader, count);
  for (const { byteCount } of miniblocksOf(reader, sizes, count)) reader.skip(byteCount);
}

/** Lengths of texts that are written so. */
export function readLengths(reader: PageReader, count: number): Int32Array {
  const { first, sizes } = readHeader(reader, count);
  const lengths = new Int32Array(count);
  if (count > 0) lengths[0] = first;
  let [value, seen] = [first, 1];
  for (const { base, width, byteCount, valueCount } of miniblocksOf(reader, sizes, count)) {
    if (width > 32) throw damaged('its lengths are too wide');
    const deltas = new Uint32Array(valueCount);
    unpackBits(reader.take(byteCount), width, deltas);
    for (const delta of deltas) {
      value = (value + base + delta) | 0;
      lengths[seen++] = value;
    }
  }
  if (lengths.some((length) => length < 0)) throw damaged('a text in it has a negative length');
  return lengths;
}

interface Sizes {
  /** Values of one miniblock. */
  readonly values: number;
  /** Miniblocks of one block. */
  readonly miniblocks: number;
}

function readHeader(reader: PageReader, count: number): { readonly first: number; readonly sizes: Sizes } {
  const [block, miniblocks, total] = [reader.varint(), reader.varint(), reader.varint()];
  const values = block / miniblocks;
  const isSound = values > 0 && values % 32 === 0 && miniblocks > 0 && miniblocks <= reader.left;
  if (!isSound || total !== count) throw damaged('its blocks have other sizes than its values');
  return { first: signed(reader), sizes: { values, miniblocks } };
}

interface Miniblock {
  /** What every value is more by, modulo 2³². */
  readonly base: number;
  readonly width: number;
  readonly byteCount: number;
  /** Values that are meant: the last ones are padded. */
  readonly valueCount: number;
}

function* miniblocksOf(
  reader: PageReader,
  { values, miniblocks }: Sizes,
  count: number,
): Generator<Miniblock> {
  for (let left = count - 1; left > 0;) {
    const base = signed(reader);
    const widths = reader.take(miniblocks).bytes;
    for (const width of widths) {
      if (left <= 0) break;
      if (width > 64) throw damaged('its values are too wide');
      yield { base, width, byteCount: (values / 8) * width, valueCount: Math.min(values, left) };
      left -= values;
    }
  }
}

/** A number of up to 64 bits whose sign is in its lowest one, modulo 2³². */
function signed(reader: PageReader): number {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = reader.byte();
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return Number(BigInt.asIntN(32, (value >> 1n) ^ -(value & 1n)));
  }
  throw damaged('a number in it is too large');
}
