/**
 * Typed arrays ↔ little-endian bytes as they stand in protobuf fields.
 *
 * A decoded field is a view at any offset of the message, so reading copies it to an aligned buffer first.
 */
import { DomainError } from '../../../core/errors';

const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

export function bytesOf(values: Float32Array | Int32Array | BigInt64Array): Uint8Array {
  if (!LITTLE_ENDIAN) throw malformed('this machine is big-endian, which the tensor codec does not support');
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

export function int32sFrom(bytes: Uint8Array, what: string): Int32Array {
  return new Int32Array(alignedCopy(bytes, 4, what));
}

export function float32sFrom(bytes: Uint8Array, what: string): Float32Array {
  return new Float32Array(alignedCopy(bytes, 4, what));
}

export function int64sFrom(bytes: Uint8Array, what: string): BigInt64Array {
  return new BigInt64Array(alignedCopy(bytes, 8, what));
}

/** The values as int64, by words: a BigInt for each would take several times as long. */
export function int64BytesOf(values: Int32Array): Uint8Array {
  const words = new Int32Array(values.length * 2);
  values.forEach((value, index) => {
    words[2 * index] = value;
    words[2 * index + 1] = value >> 31;
  });
  return bytesOf(words);
}

/** The lower half of each int64: its value where that fits 32 bits. */
export function lowWords(values: BigInt64Array): Int32Array {
  const words = wordsOf(values);
  const low = new Int32Array(values.length);
  for (let index = 0; index < low.length; index++) low[index] = words[2 * index] ?? 0;
  return low;
}

/** Where the first int64 stands that does not fit 32 bits, or -1. */
export function firstWide(values: BigInt64Array): number {
  const words = wordsOf(values);
  for (let index = 0; index < values.length; index++) {
    if (words[2 * index + 1] !== (words[2 * index] ?? 0) >> 31) return index;
  }
  return -1;
}

/** A bfloat16 is the upper half of a float32. */
export function bfloat16sFrom(bytes: Uint8Array, what: string): Float32Array {
  const halves = new Uint16Array(alignedCopy(bytes, 2, what));
  return new Float32Array(Uint32Array.from(halves, (half) => half * 0x10000).buffer);
}

export function joined(parts: readonly Int32Array[]): Int32Array {
  const whole = new Int32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function malformed(message: string, cause?: unknown): DomainError {
  return new DomainError('protocol-error', `Malformed Tinker message: ${message}.`, { cause });
}

function wordsOf(values: BigInt64Array): Int32Array {
  return new Int32Array(values.buffer, values.byteOffset, values.length * 2);
}

function alignedCopy(bytes: Uint8Array, itemSize: number, what: string): ArrayBuffer {
  if (!LITTLE_ENDIAN) throw malformed('this machine is big-endian, which the tensor codec does not support');
  if (bytes.byteLength % itemSize !== 0) {
    throw malformed(`${what} has ${bytes.byteLength} bytes, which is no multiple of ${itemSize}`);
  }
  const copy = new ArrayBuffer(bytes.byteLength);
  new Uint8Array(copy).set(bytes);
  return copy;
}
