import { brotliCompressSync, gzipSync } from 'node:zlib';
import { allParquetRows } from './parquet-all';
import { columnsOf } from '../../../src/datasets/parquet/parquet-columns';
import { plainRow } from '../../../src/datasets/parquet/parquet-values';
import { PARQUET_LIMITS } from '../../../src/datasets/parquet/parquet-budget';
import type { WrittenColumn, WrittenPage } from './parquet-writer';
import { CODECS, ENCODINGS, TYPES, uint32, varint, writeParquet } from './parquet-writer';

const hello = Buffer.concat([uint32(5), Buffer.from('hello')]);
const texts = Buffer.concat(Array.from({ length: 30 }, () => hello));

/** Packed as they can be without a packer: as they stand. */
const PACKERS: Record<keyof typeof CODECS, (bytes: Buffer) => Buffer> = {
  none: (bytes) => bytes,
  snappy: (bytes) =>
    Buffer.concat([varint(bytes.length), Buffer.from([61 << 2]), uint16(bytes.length - 1), bytes]),
  gzip: (bytes) => gzipSync(bytes),
  brotli: (bytes) => brotliCompressSync(bytes),
  zstd: (bytes) =>
    Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00]), uint24(bytes.length * 8 + 1), bytes]),
  lz4: (bytes) => lz4(bytes),
  lz4Raw: (bytes) => lz4(bytes),
};

function uint16(value: number): Buffer {
  return uint32(value).subarray(0, 2);
}

function uint24(value: number): Buffer {
  return uint32(value).subarray(0, 3);
}

function lz4(bytes: Buffer): Buffer {
  const rest = bytes.length - 15;
  const lengths = [...Array.from({ length: Math.floor(rest / 255) }, () => 255), rest % 255];
  return Buffer.concat([Buffer.from([0xf0, ...lengths]), bytes]);
}

const codecs = Object.keys(CODECS).filter((name): name is keyof typeof CODECS => name in CODECS);

function page(given: Partial<WrittenPage> & { readonly packed: Uint8Array }): WrittenPage {
  return { type: 'data', size: given.packed.length, count: 30, encoding: ENCODINGS.plain, ...given };
}

function read(rowCount: number, column: Partial<WrittenColumn> & { readonly pages: readonly WrittenPage[] }) {
  return allParquetRows('train.parquet', writeParquet(rowCount, [{ codec: 0, type: TYPES.text, ...column }]));
}

const dictionary = page({ type: 'dictionary', count: 1, packed: hello });

/** Places in a dictionary, one bit each, as one run. */
function places(length: number, place = 0): Buffer {
  return Buffer.concat([Buffer.from([1]), varint(length * 2), Buffer.from([place])]);
}

test.each(codecs)('a page that is packed with %s is read', async (codec) => {
  const packed = PACKERS[codec](texts);

  const rows = await read(30, { codec: CODECS[codec], pages: [page({ size: texts.length, packed })] });

  expect(rows).toHaveLength(30);
  expect(rows[29]).toEqual({ line: 30, value: { prompt: 'hello' } });
});

test.each(codecs)('a page of %s that holds less than it says is refused', async (codec) => {
  const packed = PACKERS[codec](texts);

  const reading = read(30, { codec: CODECS[codec], pages: [page({ size: 1_000_000, packed })] });

  await expect(reading).rejects.toThrow(/train\.parquet .*a page is damaged: .* 1000000 bytes that it says/);
});

test.each(codecs)('a page of %s that holds more than it says is refused', async (codec) => {
  const packed = PACKERS[codec](Buffer.concat([texts, Buffer.alloc(10_000)]));

  const reading = read(30, { codec: CODECS[codec], pages: [page({ size: texts.length, packed })] });

  await expect(reading).rejects.toThrow('a page is damaged');
});

test.each(codecs)('a page of %s that is cut off is refused', async (codec) => {
  const packed = PACKERS[codec](texts).subarray(0, -3);

  const reading = read(30, { codec: CODECS[codec], pages: [page({ size: texts.length, packed })] });

  await expect(reading).rejects.toThrow('a page is damaged');
});

test('what unpacks to far more than its page says takes no memory', async () => {
  const packed = gzipSync(Buffer.alloc(300_000_000));
  const before = process.resourceUsage().maxRSS;

  const reading = read(30, { codec: CODECS.gzip, pages: [page({ size: texts.length, packed })] });

  await expect(reading).rejects.toThrow('does not unpack to the 270 bytes');
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(100_000);
});

test('a dictionary with places in it is read', async () => {
  const rows = await read(30, {
    pages: [dictionary, page({ encoding: ENCODINGS.dictionary, packed: places(30) })],
  });

  expect(rows[29]).toEqual({ line: 30, value: { prompt: 'hello' } });
});

test.each(['data', 'newer'] as const)(
  'a run longer than its %s page is refused, however long',
  async (type) => {
    const packed = places(2 ** 31 - 1);

    const reading = read(30, { pages: [dictionary, page({ type, encoding: ENCODINGS.dictionary, packed })] });

    await expect(reading).rejects.toThrow('a run goes on beyond its values');
  },
);

test.each(['data', 'newer'] as const)('a run of levels longer than its %s page is refused', async (type) => {
  const run = Buffer.concat([varint((2 ** 31 - 1) * 2), Buffer.from([1])]);
  const packed =
    type === 'data' ? Buffer.concat([uint32(run.length), run, texts]) : Buffer.concat([run, texts]);

  const reading = read(30, { isOptional: true, pages: [page({ type, levelBytes: run.length, packed })] });

  await expect(reading).rejects.toThrow('a run goes on beyond its values');
});

test('a run of booleans longer than its page is refused', async () => {
  const run = Buffer.concat([varint((2 ** 31 - 1) * 2), Buffer.from([1])]);
  const packed = Buffer.concat([uint32(run.length), run]);

  const reading = read(30, { type: TYPES.boolean, pages: [page({ encoding: ENCODINGS.runs, packed })] });

  await expect(reading).rejects.toThrow('a run goes on beyond its values');
});

test.each([
  [
    'places that are not in its dictionary',
    [dictionary, page({ encoding: ENCODINGS.dictionary, packed: places(30, 1) })],
  ],
  ['places without a dictionary', [page({ encoding: ENCODINGS.dictionary, packed: places(30) })]],
  ['fewer values than its header says', [page({ packed: texts.subarray(0, -9) })]],
  [
    'a text that goes on in the next page',
    [
      page({ count: 1, packed: Buffer.concat([uint32(60), Buffer.from('hello')]) }),
      page({ count: 29, packed: texts.subarray(9) }),
    ],
  ],
  ['more missing values than values', [page({ type: 'newer', nullCount: -(2 ** 30), packed: texts })]],
] as const)('a page with %s is refused', async (_, pages) => {
  await expect(read(30, { pages })).rejects.toThrow('a page is damaged');
});

test.each([
  ['negative blocks', [varint(128), varint(2 ** 32 - 5), varint(30), varint(2)]],
  ['empty blocks', [varint(0), varint(4), varint(30), varint(2)]],
])('differences in %s are refused: the reader would go round for ever', async (_, header) => {
  const packed = Buffer.concat([...header, Buffer.alloc(64)]);

  const reading = read(30, { type: TYPES.int32, pages: [page({ encoding: ENCODINGS.deltas, packed })] });

  await expect(reading).rejects.toThrow('its blocks have other sizes than its values');
});

/** Numbers that are all the same. */
function same(value: number, count: number): Buffer {
  const blocks = Math.ceil((count - 1) / 128);
  const block = Buffer.from([0, 0, 0, 0, 0]);
  const header = [varint(128), varint(4), varint(count), varint(value * 2)];
  return Buffer.concat([...header, ...Array.from({ length: blocks }, () => block)]);
}

test('texts that begin as the one before are read', async () => {
  const packed = Buffer.concat([same(0, 30), same(5, 30), Buffer.from('hello'.repeat(30))]);

  const rows = await read(30, { pages: [page({ encoding: ENCODINGS.prefixes, packed })] });

  expect(rows[29]).toEqual({ line: 30, value: { prompt: 'hello' } });
});

test('a text that begins with more than the one before has is refused', async () => {
  const packed = Buffer.concat([same(2 ** 30, 30), same(5, 30), Buffer.from('hello'.repeat(30))]);

  const reading = read(30, { pages: [page({ encoding: ENCODINGS.prefixes, packed })] });

  await expect(reading).rejects.toThrow('a text in it begins with more than the one before has');
});

test('pages with fewer rows than the footer tells of are refused: the rest was read as empty rows', async () => {
  await expect(read(40, { pages: [page({ packed: texts })] })).rejects.toThrow(
    'the pages of "prompt" have 30 rows, and its footer tells of 40',
  );
});

test('one text that stands in so many rows that they are more than may be is refused before it is written in each', async () => {
  const long = Buffer.concat([uint32(1_000_000), Buffer.alloc(1_000_000, 'a')]);
  const pages = [
    page({ type: 'dictionary', count: 1, packed: long }),
    page({ count: 3000, encoding: ENCODINGS.dictionary, packed: places(3000) }),
  ];

  await expect(read(3000, { pages })).rejects.toThrow(
    `train.parquet comes to more than ${PARQUET_LIMITS.characters} characters when it is unpacked`,
  );
});

test('a footer that is none is said to be damaged', async () => {
  const bytes = Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(1000), uint32(1000), Buffer.from('PAR1')]);

  await expect(allParquetRows('train.parquet', bytes)).rejects.toThrow(
    'train.parquet is not a readable Parquet file: its footer is damaged. Fetch or write it again.',
  );
});

test('more columns than may be are refused before any is read', async () => {
  const columns = Array.from({ length: 11 }, (_, index) => ({
    ...{ codec: 0, type: TYPES.text, name: `column${index}`, pages: [page({ packed: texts })] },
  }));
  const bytes = writeParquet(30, columns);

  await expect(allParquetRows('train.parquet', bytes, { ...PARQUET_LIMITS, columns: 10 })).rejects.toThrow(
    'comes to more than 10 columns',
  );
});

test('a map of a great many keys is read as fast as it is long', () => {
  const columns = columnsOf([
    { name: 'root', num_children: 1 },
    { name: 'map', num_children: 1, converted_type: 'MAP' },
    { name: 'entries', num_children: 2, repetition_type: 'REPEATED' },
    { name: 'key', type: 'BYTE_ARRAY' },
    { name: 'value', type: 'INT32' },
  ]);
  const entries = Array.from({ length: 300_000 }, (_, index) => ({ key: `key${index}`, value: index }));

  expect(plainRow({ map: { entries } }, columns)).toMatchObject({ map: { key299999: 299_999 } });
});
