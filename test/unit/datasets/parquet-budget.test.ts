import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readParquetRows } from '../../../src/datasets/parquet/parquet-rows';
import { allParquetRows } from './parquet-all';
import { jsonText } from '../../../src/core/json-source';
import { CODECS, ENCODINGS, referringColumn, TYPES, uint32, writeParquet } from './parquet-writer';
import { PARQUET_LIMITS, ParquetBudget } from '../../../src/datasets/parquet/parquet-budget';
import { checkParquetPages } from '../../../src/datasets/parquet/parquet-check';
import { exactCompressors } from '../../../src/datasets/parquet/parquet-compressors';

const conversations = readFileSync(join(__dirname, 'fixtures/two-conversations.parquet'));
/** Six million times the same word, as pyarrow writes it: 13 kB. */
const repeated = readFileSync(join(__dirname, 'fixtures/six-million-rows.parquet'));

const empty = Buffer.concat([uint32(0), uint32(0), uint32(0)]);
const threeTexts = {
  ...{ name: 'a', codec: CODECS.none, type: TYPES.text },
  pages: [{ type: 'data' as const, size: empty.length, count: 3, encoding: ENCODINGS.plain, packed: empty }],
};

test.each([
  ['rows', 1],
  ['values', 3],
  ['bytes', 20],
] as const)('a file of more %s than may be is refused before it is unpacked', async (what, most) => {
  const reading = allParquetRows('train.parquet', conversations, { ...PARQUET_LIMITS, [what]: most });

  await expect(reading).rejects.toThrow(
    `train.parquet comes to more than ${most} ${what} when it is unpacked`,
  );
  await expect(reading).rejects.toThrow('split it into several files');
});

test('what is within the limits is read', async () => {
  const rows = await allParquetRows('train.parquet', conversations);

  expect(rows).toHaveLength(2);
});

test('a small file of millions of rows is refused', async () => {
  expect(repeated.byteLength).toBeLessThan(20_000);

  await expect(allParquetRows('train.parquet', repeated)).rejects.toMatchObject({ code: 'bad-dataset' });
});

test('a file whose footer tells of fewer rows than its pages hold is refused', async () => {
  const { parquetMetadata } = await import('hyparquet');
  const buffer = new Uint8Array(repeated).buffer;
  const metadata = parquetMetadata(buffer);
  const understated = {
    ...metadata,
    num_rows: 1n,
    row_groups: metadata.row_groups.map((group) => ({ ...group, num_rows: 1n })),
  };

  const budget = new ParquetBudget('x', { ...PARQUET_LIMITS, values: 1_000_000 });

  await expect(
    checkParquetPages({ buffer, metadata: understated, compressors: await exactCompressors(), budget }),
  ).rejects.toThrow('more than 1000000 values');
});

test('rows are put together as they are asked for', async () => {
  const limits = { ...PARQUET_LIMITS, characters: 3 };
  const rows = readParquetRows('train.parquet', writeParquet(3, [threeTexts]), limits);

  // Three times `{"a": ""}` come to three characters.
  expect((await rows.next()).value).toEqual({ line: 1, value: { a: '' } });
});

test('rows that come to too much are refused before the first is put together', async () => {
  const limits = { ...PARQUET_LIMITS, characters: 2 };
  const rows = readParquetRows('train.parquet', writeParquet(3, [threeTexts]), limits);

  await expect(rows.next()).rejects.toThrow('more than 2 characters');
});

test('a text that many rows refer to counts in each, before the first is put together', async () => {
  const file = writeParquet(300_000, [referringColumn('a', 'x'.repeat(12_000), 300_000)]);

  await expect(readParquetRows('train.parquet', file).next()).rejects.toThrow(
    'more than 2147483648 characters',
  );
});

const MANY_LISTS = `[${'[],'.repeat(300_000)}[]]`;

test('lists and objects of JSON that many rows refer to count in each, before the first is put together', async () => {
  const column = { ...referringColumn('j', MANY_LISTS, 400), isJson: true as const };

  await expect(readParquetRows('train.parquet', writeParquet(400, [column])).next()).rejects.toThrow(
    'more than 40000000 values',
  );
});

test('JSON that rows refer to is copied into none of them', async () => {
  const column = { ...referringColumn('j', '[[],{"a":[1.0]}]', 2), isJson: true as const };

  const [first, second] = await allParquetRows('train.parquet', writeParquet(2, [column]));

  const valueOf = (row: typeof first) =>
    row && 'value' in row ? (row.value as { readonly j: unknown }).j : undefined;
  expect(valueOf(first)).toEqual([[], { a: [1] }]);
  expect(valueOf(second)).toBe(valueOf(first));
  expect(first && 'value' in first && jsonText(first.value)).toBe('{"j":[[],{"a":[1.0]}]}');
});
