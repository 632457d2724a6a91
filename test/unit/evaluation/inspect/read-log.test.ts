import { execFileSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { NamedLog } from '../../../../src/evaluation/inspect/log/log-metrics';
import {
  isWithoutScore,
  mainMetricOf,
  scoresOfLogs,
} from '../../../../src/evaluation/inspect/log/log-metrics';
import { openInspectLog } from '../../../../src/evaluation/inspect/log/read-log';
import { numberOfValue } from '../../../../src/evaluation/inspect/log/sample-value';
import { parseTolerantJson } from '../../../../src/evaluation/inspect/log/tolerant-json';
import { decompressZstandard } from '../../../../src/evaluation/inspect/log/zstandard';

/** `hello hello hello hello`, packed by Python's zstandard. */
const FRAME = Buffer.from('28b52ffd20176500003068656c6c6f200100994b11', 'hex');

const HEADER = {
  version: 2,
  status: 'success',
  eval: {
    task: 'sums',
    created: '2026-01-01T00:00:00+00:00',
    model: 'openai-api/everstep/everstep/tiny',
    dataset: { name: 'org/additions', samples: 2 },
    config: {},
  },
  results: {
    total_samples: 2,
    completed_samples: 2,
    scores: [
      scorer('match', { accuracy: 0.5, stderr: 0.25 }),
      scorer('includes', { mean: 1, stderr: 0, std: 0 }),
    ],
  },
};

function named(name: string, spec: Record<string, string>): NamedLog {
  return { name, header: { ...HEADER, eval: { ...HEADER.eval, ...spec } } as never };
}

function scorer(name: string, metrics: Record<string, number | null>) {
  const entries = Object.entries(metrics).map(([key, value]) => [key, { name: key, value, params: {} }]);
  return {
    name,
    scorer: name,
    scored_samples: 2,
    unscored_samples: 0,
    metrics: Object.fromEntries(entries) as Record<string, unknown>,
  };
}

const LIMITS = {
  members: 10,
  memberBytes: 100_000,
  documentBytes: 100_000,
  parts: 1000,
  keys: 3000,
  depth: 50,
};
/** Packed, a few hundred times smaller. */
const MANY_LISTS = `{"eval": [${'[],'.repeat(2000)}[]]}`;
const MANY_KEYS = `{${'"key":0,'.repeat(4000)}"eval":0}`;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'everstep-inspect-log-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function archive(members: Record<string, Buffer | string>): Promise<string> {
  const file = path.join(folder, 'log.eval');
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(members)) zip.addBuffer(Buffer.from(content), name);
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(file));
  return file;
}

test('names metrics after dataset and scorer, and folds the standard error into its mean', () => {
  const scores = scoresOfLogs([named('sums', {})]);

  expect(scores).toEqual([
    expect.objectContaining({ key: 'test/org-additions/accuracy', value: 0.5, stderr: 0.25, n: 2 }),
    expect.objectContaining({ key: 'test/org-additions/includes/mean', value: 1, stderr: 0 }),
  ]);
});

test('a name of a million dashes is read once', () => {
  const [score] = scoresOfLogs([
    named(`-a${'-'.repeat(1_000_000)}b-`, { task: `-a${'-'.repeat(1_000_000)}b-`, dataset: '' }),
  ]);
  expect(score?.key).toBe(`test/a${'-'.repeat(1_000_000)}b/accuracy`);
});

test('tells two tasks of one dataset apart', () => {
  const logs = [named('sums', {}), named('products', { task: 'products' })];

  const keys = scoresOfLogs(logs).map(({ key }) => key);

  expect(keys).toContain('test/org-additions/sums/accuracy');
  expect(keys).toContain('test/org-additions/products/accuracy');
});

test('tells two tasks of one dataset and one name apart by what they are called here', () => {
  const keys = scoresOfLogs([named('a-sums', {}), named('b-sums', {})]).map(({ key }) => key);

  expect(new Set(keys).size).toBe(keys.length);
  expect(keys).toContain('test/org-additions/b-sums/accuracy');
});

test('the metric that the author of a task chose stands for it', () => {
  const { results } = HEADER;
  const headline = { score: 'includes', metric: 'mean', reducer: null };

  expect(mainMetricOf(results as never)).toMatchObject({ name: 'accuracy', value: 0.5, stderr: 0.25 });
  expect(mainMetricOf({ ...results, headline } as never)).toMatchObject({ name: 'mean', value: 1 });
});

test('a log with nothing that could be scored has no metric', () => {
  const scores = [scorer('match', { mean: null })];

  expect(isWithoutScore({ ...HEADER, results: { ...HEADER.results, scores } } as never)).toBe(true);
  expect(isWithoutScore(HEADER as never)).toBe(false);
});

test('reads an archive, and of one that was interrupted what it began with', async () => {
  const file = await archive({
    'samples/a/1_epoch_1.json': JSON.stringify({ id: 'a/1', epoch: 1, input: '1+1=', target: '2' }),
    '_journal/start.json': JSON.stringify({ version: 2, eval: HEADER.eval }),
  });

  const log = await openInspectLog(file);
  const ids: unknown[] = [];
  for await (const { id } of log.samples()) ids.push(id);
  log.close();

  expect(log.header.status).toBe('started');
  expect(ids).toEqual(['a/1']);
});

test('reads a log that is one JSON document with numbers that JSON has no words for', async () => {
  const file = path.join(folder, 'log.json');
  const text = JSON.stringify({ ...HEADER, samples: [{ id: 1, input: 'is NaN "NaN"?', target: '' }] });
  await writeFile(file, text.replace('0.25', 'NaN'));

  const log = await openInspectLog(file);
  const inputs: unknown[] = [];
  for await (const { input } of log.samples()) inputs.push(input);

  expect(log.header.results?.scores[0]?.metrics['stderr']?.value).toBeNull();
  expect(inputs).toEqual(['is NaN "NaN"?']);
});

test.each([
  [
    'a member that unpacks to more than may be',
    { 'header.json': Buffer.alloc(200_000, 0x20) },
    'more than 100000',
  ],
  [
    'more members than may be',
    Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`m${n}`, ''])),
    '11 members',
  ],
  ['a header of too many lists', { 'header.json': MANY_LISTS }, 'header.json holds 2003 lists and objects'],
  ['a header of too many keys', { 'header.json': MANY_KEYS }, '1 lists and objects with 4001 keys'],
  [
    'a header nested too deep',
    { 'header.json': '['.repeat(60) },
    '60 deep in one another; 1000 with 3000 keys are read, 50',
  ],
  ['no header', { 'other.json': '{}' }, 'neither header.json'],
  ['a header that is none', { 'header.json': '{"eval": 3}' }, 'header.json: eval'],
])('refuses %s', async (_what, members, words) => {
  const file = await archive(members);

  await expect(openInspectLog(file, LIMITS)).rejects.toThrow(words);
});

/** Nine samples of 95,000 bytes, each small enough. */
function bigSamples(): Promise<string> {
  const text = JSON.stringify({ id: 1, input: ' '.repeat(95_000) });
  const samples = Array.from({ length: 9 }, (_, index) => [`samples/${index}_epoch_1.json`, text] as const);
  return archive({ 'header.json': JSON.stringify(HEADER), ...Object.fromEntries(samples) });
}

/** Changes each entry of the archive's directory, from where its name begins. */
async function rewriteDirectory(file: string, change: (entry: Buffer) => void): Promise<void> {
  const bytes = await readFile(file);
  const mark = Buffer.from('PK\u0001\u0002');
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1)) change(bytes.subarray(at));
  await writeFile(file, bytes);
}

test('members that are each small enough and together a bomb are refused before one is unpacked', async () => {
  const file = await bigSamples();

  await expect(openInspectLog(file, LIMITS)).rejects.toThrow(
    /Its members come to 85\d{4} bytes, more than \d+, which is no log but a bomb/,
  );
});

test('the same are refused while they are read where the directory says less', async () => {
  const file = await bigSamples();
  await rewriteDirectory(file, (entry) => entry.writeUInt32LE(1, 24));
  const log = await openInspectLog(file, LIMITS);

  const readAll = async () => {
    for await (const sample of log.samples()) expect(sample.id).toBe(1);
  };

  await expect(readAll()).rejects.toThrow('no log but a bomb');
  log.close();
});

test('members that share their bytes are refused', async () => {
  const file = await archive({
    'header.json': JSON.stringify(HEADER),
    'samples/1_epoch_1.json': '{}',
    'samples/2_epoch_1.json': '{}',
  });
  await rewriteDirectory(file, (entry) => entry.writeUInt32LE(0, 42));

  await expect(openInspectLog(file, LIMITS)).rejects.toThrow('Its members share their bytes');
});

test.each([
  ['mkfifo', 'it is no plain file, but a pipe, a socket or a device'],
  ['mkdir', 'it is a folder'],
])('what %s made in place of a log is refused at once', async (command, words) => {
  const file = path.join(folder, 'odd.eval');
  execFileSync(command, [file]);

  await expect(openInspectLog(file)).rejects.toMatchObject({
    code: 'bad-config',
    message: `${file}: ${words}. Name an .eval or .json file of Inspect AI.`,
  });
});

test('a log that is not there is called so', async () => {
  const file = path.join(folder, 'none.eval');

  await expect(openInspectLog(file)).rejects.toThrow(`${file}: there is no such log.`);
});

test('a small archive whose one member comes to far more than logs do is refused', async () => {
  const file = await archive({ 'header.json': Buffer.alloc(40 * 2 ** 20, 0x20) });

  await expect(openInspectLog(file)).rejects.toThrow(
    `${file} cannot be read as a log of Inspect AI. It holds a member of more than 33554432 bytes`,
  );
});

test('one document of too many lists is refused, and how to read it is said', async () => {
  const file = path.join(folder, 'log.json');
  await writeFile(file, MANY_LISTS);

  await expect(openInspectLog(file, LIMITS)).rejects.toThrow('inspect log convert --to eval');
});

test('a torn archive is refused in words', async () => {
  const file = path.join(folder, 'torn.eval');
  await writeFile(file, Buffer.from('PK\u0003\u0004 and no more'));

  await expect(openInspectLog(file)).rejects.toMatchObject({
    code: 'bad-dataset',
    message: expect.stringContaining('It is cut off') as string,
  });
});

test('gives up on a Zstandard frame that asks for a window larger than anybody needs', () => {
  // No single segment, window descriptor 0xf8: 2 ** 41 bytes.
  const frame = Buffer.from('28b52ffd00f801000061', 'hex');

  expect(() => decompressZstandard(frame, 1000)).toThrow('more than 1000 bytes');
});

test('a second frame, whose header nobody looked at, is refused before anything is unpacked', () => {
  const windowOfGigabytes = Buffer.from('28b52ffd00a701000061', 'hex');

  for (const more of [windowOfGigabytes, FRAME, Buffer.from([0])]) {
    expect(() => decompressZstandard(Buffer.concat([FRAME, more]), 1000)).toThrow(
      'something behind its Zstandard frame',
    );
  }
});

test('unpacks what Zstandard packed', () => {
  expect(Buffer.from(decompressZstandard(FRAME, 1000)).toString()).toBe('hello hello hello hello');
});

test('gives up on a frame that says it holds more than may be', () => {
  expect(() => decompressZstandard(FRAME, 4)).toThrow('more than 4 bytes');
});

test.each([
  ['C', 1],
  ['I', 0],
  ['P', 0.5],
  ['N', 0],
  ['yes', 1],
  [true, 1],
  ['0.25', 0.25],
  [Number.NaN, null],
  [{ a: 1 }, null],
])('takes the value %j for %j', (value, expected) => {
  expect(numberOfValue(value)).toBe(expected);
});

test('infinities become null wherever they stand, and texts stay as they are', () => {
  expect(parseTolerantJson('{"a": [NaN, -Infinity, 1], "b": "NaN \\" Infinity"}')).toEqual({
    a: [null, null, 1],
    b: 'NaN " Infinity',
  });
});
