import { Decompress } from 'fzstd';
import { DomainError } from '../../../core/errors';

/** What the format's own tools take without being asked. */
const MOST_WINDOW_BYTES = 128 * 1024 * 1024;
const MAGIC = 0xfd2fb528;
const PIECE_BYTES = 64 * 1024;

/** Decompresses Zstandard, giving up as soon as more comes out than `limit` bytes. */
export function decompressZstandard(data: Uint8Array, limit: number): Uint8Array {
  refuseLargeWindow(data, limit);
  refuseFurtherFrames(data);
  const parts: Uint8Array[] = [];
  let size = 0;
  const stream = new Decompress((part) => {
    size += part.length;
    if (size > limit) throw tooLarge(limit);
    // The decoder writes its next piece where this one lies.
    parts.push(part.slice());
  });
  for (let start = 0; start < data.length; start += PIECE_BYTES) {
    const end = Math.min(start + PIECE_BYTES, data.length);
    stream.push(data.subarray(start, end), end === data.length);
  }
  return Buffer.concat(parts);
}

/** The decoder makes room for the whole window before it reads on, so that the frame's header alone could take all memory. */
function refuseLargeWindow(data: Uint8Array, limit: number): void {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (data.length < 6 || view.getUint32(0, true) !== MAGIC) {
    throw new DomainError('bad-dataset', 'It holds a member that is no Zstandard frame.');
  }
  const window = windowOf(view);
  if (window > Math.min(MOST_WINDOW_BYTES, Math.max(limit, PIECE_BYTES))) throw tooLarge(limit);
}

/** Its header would be believed unseen. A member that Inspect wrote is one frame. */
function refuseFurtherFrames(data: Uint8Array): void {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const descriptor = view.getUint8(4);
  let at = blocksStart(descriptor);
  for (let isLast = false; !isLast;) {
    if (at + 3 > data.length) return;
    const header = view.getUint8(at) + view.getUint8(at + 1) * 256 + view.getUint8(at + 2) * 65_536;
    isLast = (header & 1) === 1;
    const isRun = ((header >> 1) & 3) === 1;
    at += 3 + (isRun ? 1 : header >> 3);
  }
  const hasChecksum = (descriptor & 4) !== 0;
  if (at + (hasChecksum ? 4 : 0) >= data.length) return;
  throw new DomainError('bad-dataset', 'It holds a member with something behind its Zstandard frame.');
}

/** RFC 8878, 3.1.1.1: behind the window, the dictionary and the size, each of which may be missing. */
function blocksStart(descriptor: number): number {
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const size = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  return 5 + (isSingleSegment ? 0 : 1) + dictionary + size;
}

/** RFC 8878, 3.1.1.1. */
function windowOf(view: DataView): number {
  const descriptor = view.getUint8(4);
  const isSingleSegment = (descriptor & 0x20) !== 0;
  if (isSingleSegment) return contentSizeOf(view, descriptor);
  const byte = view.getUint8(5);
  const base = 2 ** (10 + (byte >> 3));
  const window = base + (base / 8) * (byte & 7);
  // A window is rounded up to a power of two, whatever is in it.
  return window <= 8 * 1024 * 1024 ? 0 : window;
}

function contentSizeOf(view: DataView, descriptor: number): number {
  const start = 5 + ([0, 1, 2, 4][descriptor & 3] ?? 0);
  const width = [1, 2, 4, 8][descriptor >> 6] ?? 1;
  if (view.byteLength < start + width) return Infinity;
  if (width === 1) return view.getUint8(start);
  if (width === 2) return view.getUint16(start, true) + 256;
  return width === 4 ? view.getUint32(start, true) : Number(view.getBigUint64(start, true));
}

function tooLarge(limit: number): DomainError {
  return new DomainError('bad-dataset', `It holds a member of more than ${limit} bytes.`);
}
