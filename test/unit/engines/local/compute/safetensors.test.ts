import { readSafetensors, writeSafetensors } from '../../../../../src/engines/local/compute/safetensors';

const TENSORS = [
  { name: 'a.weight', shape: [2, 3], data: Float32Array.of(1, -2.5, 3e-8, 4, NaN, -0) },
  { name: 'ü', shape: [1], data: Float32Array.of(7) },
  { name: 'empty', shape: [0], data: new Float32Array(0) },
];

function bitsOf(data: Float32Array = new Float32Array(1)): Uint32Array {
  return new Uint32Array(data.slice().buffer);
}

test('reads back what it wrote, bit for bit, also from a Buffer inside a larger one', () => {
  const bytes = writeSafetensors(TENSORS, { format: 'pt' });
  const inside = Buffer.concat([Buffer.alloc(3), bytes, Buffer.alloc(5)]).subarray(3, 3 + bytes.length);

  for (const source of [bytes, inside]) {
    const tensors = readSafetensors(source);
    expect(tensors.map(({ name, shape }) => ({ name, shape }))).toEqual(
      TENSORS.map(({ name, shape }) => ({ name, shape })),
    );
    for (const [index, { data }] of TENSORS.entries()) {
      // Bits, so that NaN and -0 count.
      expect(bitsOf(tensors[index]?.data)).toEqual(bitsOf(data));
    }
  }
});

test('lays the file out as the format says', () => {
  const bytes = writeSafetensors(TENSORS, { format: 'pt' });
  const headerLength = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header: unknown = JSON.parse(Buffer.from(bytes.subarray(8, 8 + headerLength)).toString());

  expect(headerLength % 8).toBe(0);
  expect(header).toMatchObject({
    __metadata__: { format: 'pt' },
    'a.weight': { dtype: 'F32', shape: [2, 3], data_offsets: [0, 24] },
    ü: { dtype: 'F32', shape: [1], data_offsets: [24, 28] },
  });
  expect(bytes.length).toBe(8 + headerLength + 28);
});

test('a tensor that is a view of a larger array writes only itself', () => {
  const data = Float32Array.of(1, 2, 3, 4).subarray(1, 3);

  expect(readSafetensors(writeSafetensors([{ name: 'view', shape: [2], data }]))[0]?.data).toEqual(
    Float32Array.of(2, 3),
  );
});

function file(header: object | string, body: Uint8Array): Uint8Array {
  const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, body]);
}

test('widens bfloat16', () => {
  const bytes = file(
    { x: { dtype: 'BF16', shape: [2], data_offsets: [0, 4] } },
    Buffer.of(0x80, 0x3f, 0x20, 0xc0),
  );

  expect(readSafetensors(bytes)[0]?.data).toEqual(Float32Array.of(1, -2.5));
});

test.each([
  ['an empty file', Buffer.alloc(0)],
  ['a header that is cut off', writeSafetensors(TENSORS).subarray(0, 20)],
  ['a tensor that is cut off', writeSafetensors(TENSORS).subarray(0, -2)],
  ['a header that is not JSON', file('{"x"', Buffer.alloc(4))],
  [
    'a size that contradicts the shape',
    file({ x: { dtype: 'F32', shape: [3], data_offsets: [0, 4] } }, Buffer.alloc(4)),
  ],
  ['a type it cannot read', file({ x: { dtype: 'I8', shape: [4], data_offsets: [0, 4] } }, Buffer.alloc(4))],
  ['an entry without offsets', file({ x: { dtype: 'F32', shape: [1] } }, Buffer.alloc(4))],
])('refuses %s', (_name, bytes) => {
  expect(() => readSafetensors(bytes)).toThrow(/Not a readable safetensors file/);
});

test('tensors that share bytes are refused before each takes memory of its own', () => {
  const header = JSON.stringify({
    one: { dtype: 'F32', shape: [2], data_offsets: [0, 8] },
    two: { dtype: 'F32', shape: [2], data_offsets: [4, 12] },
  });
  const bytes = Buffer.concat([Buffer.alloc(8), Buffer.from(header), Buffer.alloc(12)]);
  bytes.writeBigUInt64LE(BigInt(header.length));

  expect(() => readSafetensors(bytes)).toThrow('tensor "two" lies in another one');
});

test('a header larger than any that is meant is refused before it is parsed', () => {
  const header = Buffer.from(`{"a":"${' '.repeat(4 * 1024 * 1024)}"}`);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));

  expect(() => readSafetensors(Buffer.concat([length, header]))).toThrow(
    `its header has ${header.length} bytes, and 4194304 are read at most`,
  );
});

test.each([
  [
    'lists in one another',
    `{"x":${'['.repeat(300_000)}${']'.repeat(300_000)}}`,
    'its header holds 300001 lists and objects',
  ],
  ['a list in place of a tensor', '{"x":[0,0]}', 'the entry of "x" is malformed'],
])('a header of %s is refused', (_what, text, words) => {
  const header = Buffer.from(text);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));

  expect(() => readSafetensors(Buffer.concat([length, header]))).toThrow(words);
});
