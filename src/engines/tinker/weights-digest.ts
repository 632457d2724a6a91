import { createHash } from 'node:crypto';
import { bfloat16sFrom, bytesOf, malformed } from './codec/bytes';
import { arrayFrom, isObject, objectFrom, parseJson } from './codec/json-values';

interface TensorPlace {
  readonly name: string;
  readonly dtype: string;
  readonly start: number;
  readonly end: number;
}

const LARGEST_HEADER = 100_000_000;

/** sha256 over the values of all tensors of a safetensors file, as little-endian float32, in name order. */
export function digestSafetensors(file: Buffer): string {
  const headerLength = file.length >= 8 ? Number(file.readBigUInt64LE(0)) : -1;
  if (headerLength < 0 || headerLength > LARGEST_HEADER || 8 + headerLength > file.length) {
    throw malformed('the weights are not a safetensors file');
  }
  const header = objectFrom(
    parseJson(file.toString('utf8', 8, 8 + headerLength), 'safetensors header'),
    'header',
  );
  const data = file.subarray(8 + headerLength);
  const hash = createHash('sha256');
  for (const place of placesOf(header)) hash.update(float32Bytes(place, data));
  return hash.digest('hex');
}

function placesOf(header: Readonly<Record<string, unknown>>): TensorPlace[] {
  return Object.entries(header)
    .filter(([name]) => name !== '__metadata__')
    .map(([name, entry]) => {
      const [start, end] = arrayFrom(isObject(entry) ? entry['data_offsets'] : null, `${name}.data_offsets`);
      const dtype = isObject(entry) ? entry['dtype'] : null;
      if (typeof start !== 'number' || typeof end !== 'number' || typeof dtype !== 'string') {
        throw malformed(`tensor "${name}" has no place in the safetensors file`);
      }
      return { name, dtype, start, end };
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

function float32Bytes({ name, dtype, start, end }: TensorPlace, data: Buffer): Uint8Array {
  if (start < 0 || end < start || end > data.length)
    throw malformed(`tensor "${name}" lies outside its file`);
  const bytes = data.subarray(start, end);
  switch (dtype) {
    case 'F32':
      return bytes;
    case 'BF16':
      return bytesOf(bfloat16sFrom(bytes, name));
    case 'F16':
      return bytesOf(float16sFrom(bytes));
    default:
      throw malformed(`tensor "${name}" has dtype ${dtype}, of which no float32 digest can be made`);
  }
}

function float16sFrom(bytes: Buffer): Float32Array {
  return Float32Array.from({ length: bytes.length >> 1 }, (_, index) =>
    float16(bytes.readUInt16LE(index * 2)),
  );
}

/** IEEE 754 binary16. */
function float16(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
