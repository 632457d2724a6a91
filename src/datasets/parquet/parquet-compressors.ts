import { brotliDecompressSync, unzipSync } from 'node:zlib';
import { Decompress as ZstdStream } from 'fzstd';
import type { Compressors } from 'hyparquet';
import { PageReader } from './parquet-page-reader';

type Unpack = (input: Uint8Array, length: number) => Uint8Array;

/**
 * Unpackers of pages that give exactly as many bytes as the page's header says, or throw, and take no more memory than that on the way:
 * those that the reader comes with fill up what is missing with zeros, take streams that are cut off, or go by the stream alone.
 */
export async function exactCompressors(): Promise<Compressors> {
  const { compressors } = await import('hyparquet-compressors');
  const { SNAPPY: snappy, LZ4: lz4, LZ4_RAW: lz4Raw } = compressors;
  if (!snappy || !lz4 || !lz4Raw) throw new Error('the decompressors are not whole');
  return {
    SNAPPY: exact((input, length) => {
      requireSame(snappyLength(input), length);
      return snappy(input, length);
    }),
    // As other readers do, it takes what is packed under zlib's own header too.
    GZIP: exact((input, length) => unzipSync(input, { maxOutputLength: length })),
    BROTLI: exact((input, length) => brotliDecompressSync(input, { maxOutputLength: length })),
    ZSTD: exact(unzstd),
    LZ4: exact((input, length) => {
      const isFramed = hadoopLength(input) === length;
      if (!isFramed) requireSame(lz4Length(input), length);
      return (isFramed ? lz4 : lz4Raw)(input, length);
    }),
    LZ4_RAW: exact((input, length) => {
      requireSame(lz4Length(input), length);
      return lz4Raw(input, length);
    }),
  };
}

function exact(unpack: Unpack): Unpack {
  return (input, length) => {
    // Of nothing, some writers pack nothing.
    if (length === 0) return new Uint8Array(0);
    try {
      const output = unpack(input, length);
      requireSame(output.length, length);
      return output;
    } catch (cause) {
      throw new Error(`a page is damaged: it does not unpack to the ${length} bytes that it says`, { cause });
    }
  };
}

function requireSame(length: number, expected: number): void {
  if (length !== expected) throw new Error(`${length} bytes`);
}

/** What a stream says of itself, to which it is held by its unpacker. A copy of three bytes gives 64 at most. */
function snappyLength(input: Uint8Array): number {
  const length = new PageReader(input).varint();
  if (length > input.length * 64) throw new Error('too many bytes');
  return length;
}

/** Of one block: literals and copies by turns, with literals at the end. */
function lz4Length(input: Uint8Array): number {
  const reader = new PageReader(input);
  let length = 0;
  for (;;) {
    const token = reader.byte();
    const literals = lz4Count(reader, token >> 4);
    length += literals;
    reader.skip(literals);
    if (reader.left === 0) return length;
    reader.skip(2);
    length += lz4Count(reader, token & 15) + 4;
  }
}

function lz4Count(reader: PageReader, first: number): number {
  let count = first;
  for (let byte = first === 15 ? 255 : 0; byte === 255; count += byte) byte = reader.byte();
  return count;
}

/** Of the blocks that Hadoop writes, each behind its two lengths; null where these are none. */
function hadoopLength(input: Uint8Array): number | null {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  let length = 0;
  try {
    for (let offset = 0; offset < input.length;) {
      const [unpacked, packed] = [view.getUint32(offset), view.getUint32(offset + 4)];
      offset += 8 + packed;
      if (offset > input.length || lz4Length(input.subarray(offset - packed, offset)) !== unpacked)
        return null;
      length += unpacked;
    }
    return length;
  } catch {
    return null;
  }
}

/** As many as decoders have to allow; more is needed where the page is longer. */
const ZSTD_WINDOW = 8 * 1024 * 1024;

/** The window is moved with each block, so that neither may be out of proportion to the page. */
function unzstd(input: Uint8Array, length: number): Uint8Array {
  if (zstdWindow(input) > Math.max(ZSTD_WINDOW, 2 * length)) throw new Error('too large a window');
  const output = new Uint8Array(length);
  let [offset, blocksLeft] = [0, 64 + length / 256];
  const stream = new ZstdStream((block) => {
    if (blocksLeft-- < 0) throw new Error('too many blocks');
    // More than there is room for is refused.
    output.set(block, offset);
    offset += block.length;
  });
  stream.push(input, true);
  requireSame(offset, length);
  return output;
}

/** Of a frame that has its window in its header; the others' is their content. */
function zstdWindow(input: Uint8Array): number {
  const [flags = 0, window = 0] = input.subarray(4);
  const isSingleSegment = (flags & 0x20) !== 0;
  return isSingleSegment ? 0 : 2 ** (10 + (window >> 3)) * (1 + (window & 7) / 8);
}
