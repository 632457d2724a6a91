import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadDataset } from '../../../src/datasets/load-dataset';
import { allParquetRows } from './parquet-all';
import { textColumn, writeParquet } from './parquet-writer';

const GOOD = '[{"role":"user","content":"hi"},{"role":"assistant","content":"yo"}]';
const TWICE = GOOD.replace('"yo"', '"GOOD","content":"EVIL"');
const HALF = GOOD.replace('yo', String.raw`x\ud800y`);
const DEEP = '['.repeat(50_000) + ']'.repeat(50_000);
const PROBLEMS = [
  [TWICE, 'field "messages": an object has "content" twice, of which only the last would count. Keep one.'],
  [HALF, 'field "messages": field "[1].content" has half of a character'],
  ['{bad', 'field "messages": not valid JSON ('],
  [DEEP, 'field "messages": lists and objects lie more than 500 deep in one another.'],
] as const;

const jsonColumn = (texts: readonly string[]) => ({
  ...textColumn('messages', texts),
  isJson: true as const,
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parquet-json-'));
});
afterAll(() => rm(folder, { recursive: true }));

test.each(PROBLEMS)('what is wrong with JSON of a table is told of its row: %.80s', async (text, problem) => {
  const file = writeParquet(3, [jsonColumn([GOOD, text, GOOD])]);

  const rows = await allParquetRows('train.parquet', file);

  const messages: unknown = JSON.parse(GOOD);
  expect(rows).toEqual([
    { line: 1, value: { messages } },
    { line: 2, problem: expect.stringContaining(problem) as string },
    { line: 3, value: { messages } },
  ]);
});

test('rows whose JSON has flaws are refused by their numbers, or left out', async () => {
  const texts = [GOOD.replace('hi', 'ho'), ...PROBLEMS.map(([text]) => text), GOOD];
  const path = join(folder, 'train.parquet');
  await writeFile(path, writeParquet(texts.length, [jsonColumn(texts)]));

  await expect(loadDataset({ path })).rejects.toThrow(
    /has 4 bad rows of 6:\n {2}- row 2: .* twice.*\n {2}- row 3: .*\n {2}- row 4: .*\n {2}- row 5: /,
  );

  const { rows, skipped } = await loadDataset({ path, onBadRow: 'skip' });
  expect(rows).toHaveLength(2);
  expect(skipped.map(({ line }) => line)).toEqual([2, 3, 4, 5]);
});

const LFS = 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n';

test.each(['parquet', 'jsonl', 'json', 'csv'])(
  'a pointer in the place of a .%s file is told',
  async (kind) => {
    const path = join(folder, `pointer.${kind}`);
    await writeFile(path, LFS);
    await expect(loadDataset({ path })).rejects.toThrow(
      `is a pointer of Git LFS in the place of the file. Fetch the file itself, for example with git lfs pull.`,
    );

    await writeFile(path, '# xet version 0\nfilesize = 100\nhash = "aa"\n');
    await expect(loadDataset({ path })).rejects.toThrow('is a pointer of Xet');
  },
);

test.each([
  ['gz', 'gunzip'],
  ['zst', 'zstd -d'],
])('a packed file (.%s) has to be unpacked', async (kind, remedy) => {
  const path = join(folder, `rows.jsonl.${kind}`);
  await writeFile(path, 'x');

  await expect(loadDataset({ path })).rejects.toThrow(`is packed. Unpack it, for example with ${remedy}`);
});

test('a table that is encrypted is told so', async () => {
  const file = writeParquet(1, [jsonColumn([GOOD])]);

  await expect(
    allParquetRows('train.parquet', Buffer.concat([file.subarray(0, -4), Buffer.from('PARE')])),
  ).rejects.toThrow('train.parquet is not a readable Parquet file: it is encrypted');
});
