import { DomainError } from '../../../core/errors';
import { countJsonParts } from '../../../core/json-parts';
import type { NamedTensor } from '../model-runtime';

/**
 * The safetensors format: 8 bytes of header length, a JSON header, then the tensors.
 * float32 is read and written; bfloat16 is widened on the way in.
 */

interface Entry {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly number[];
  readonly start: number;
  readonly end: number;
}

export function writeSafetensors(
  tensors: readonly NamedTensor[],
  metadata?: Readonly<Record<string, string>>,
): Uint8Array {
  const header: Record<string, unknown> = metadata === undefined ? {} : { __metadata__: metadata };
  let size = 0;
  for (const { name, shape, data } of tensors) {
    header[name] = { dtype: 'F32', shape, data_offsets: [size, size + data.byteLength] };
    size += data.byteLength;
  }
  const text = JSON.stringify(header);
  // Readers map the file into memory: the tensors begin at a multiple of 8.
  const json = new TextEncoder().encode(text + ' '.repeat((8 - (Buffer.byteLength(text) % 8)) % 8));
  const bytes = new Uint8Array(8 + json.length + size);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(json.length), true);
  bytes.set(json, 8);
  let offset = 8 + json.length;
  for (const { data } of tensors) {
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), offset);
    offset += data.byteLength;
  }
  return bytes;
}

/** Of forty thousand tensors. What is larger takes the process seconds and many times its size, whatever comes of it. */
const LARGEST_HEADER_BYTES = 4 * 1024 * 1024;
/** Lists and objects of a header; each tensor has three. */
const MOST_PARTS = 200_000;

export function readSafetensors(bytes: Uint8Array): NamedTensor[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headerLength = bytes.length < 8 ? -1 : Number(view.getBigUint64(0, true));
  if (headerLength > LARGEST_HEADER_BYTES) {
    throw damaged(`its header has ${headerLength} bytes, and ${LARGEST_HEADER_BYTES} are read at most`);
  }
  if (headerLength < 2 || 8 + headerLength > bytes.length) throw damaged('its header is cut off');
  // Not `bytes` itself: the `slice` of a Buffer would not copy.
  const body = new Uint8Array(
    bytes.buffer,
    bytes.byteOffset + 8 + headerLength,
    bytes.length - 8 - headerLength,
  );
  let covered = 0;
  return parseEntries(bytes.subarray(8, 8 + headerLength)).map((entry) => {
    // Each is copied: tensors of the same bytes would take far more memory than their file has.
    if (entry.start < covered) throw damaged(`tensor "${entry.name}" lies in another one`);
    covered = entry.end;
    if (entry.end > body.length) throw damaged(`tensor "${entry.name}" is cut off`);
    return {
      name: entry.name,
      shape: entry.shape,
      data: toFloats(entry, body.slice(entry.start, entry.end)),
    };
  });
}

function damaged(reason: string): DomainError {
  return new DomainError(
    'bad-config',
    `Not a readable safetensors file: ${reason}. Copy or download it again.`,
  );
}

function parseEntries(json: Uint8Array): Entry[] {
  const text = new TextDecoder().decode(json);
  const { parts } = countJsonParts(text);
  if (parts > MOST_PARTS) throw damaged(`its header holds ${parts} lists and objects`);
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch {
    throw damaged('its header is not JSON');
  }
  if (typeof header !== 'object' || header === null) throw damaged('its header is not an object');
  return Object.entries(header)
    .filter(([name]) => name !== '__metadata__')
    .map(([name, value]: [string, unknown]) => parseEntry(name, value))
    .sort((left, right) => left.start - right.start);
}

function parseEntry(name: string, value: unknown): Entry {
  if (typeof value !== 'object' || value === null) throw malformed(name);
  const type: unknown = Reflect.get(value, 'dtype');
  const shape = toNumbers(Reflect.get(value, 'shape'));
  const [start, end] = toNumbers(Reflect.get(value, 'data_offsets'));
  if (typeof type !== 'string' || start === undefined || end === undefined || end < start) {
    throw malformed(name);
  }
  return { name, type, shape, start, end };
}

function malformed(name: string): DomainError {
  return damaged(`the entry of "${name}" is malformed`);
}

function toNumbers(value: unknown): number[] {
  const items: unknown[] = Array.isArray(value) ? value : [];
  return items.filter(
    (item): item is number => typeof item === 'number' && Number.isInteger(item) && item >= 0,
  );
}

/** `raw` is a copy of its own, so its buffer is aligned. */
function toFloats(entry: Entry, raw: Uint8Array): Float32Array {
  const count = entry.shape.reduce((product, size) => product * size, 1);
  const width = { F32: 4, BF16: 2 }[entry.type];
  if (width === undefined) throw damaged(`tensor "${entry.name}" is ${entry.type}; F32 and BF16 can be read`);
  if (raw.length !== count * width) throw damaged(`tensor "${entry.name}" has the wrong size`);
  if (width === 4) return new Float32Array(raw.buffer);
  const halves = new Uint16Array(raw.buffer);
  return new Float32Array(Uint32Array.from(halves, (half) => half << 16).buffer);
}
