import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { appendFileSync, copyFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JournalMirror } from '../../../../src/server/feed/journal-mirror';
import { openJournal } from '../../../../src/stores/fenced-journal';

interface Row {
  readonly step: number;
  readonly loss?: number;
}

let folder: string;
let mirror: JournalMirror;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-mirror-'));
  mirror = new JournalMirror(folder, 'metrics.jsonl');
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const path = () => join(folder, 'metrics.jsonl');

function open(epoch: number, keep?: (row: Row) => boolean) {
  return openJournal<Row>({ path: path(), epoch, keyOf: ({ step }) => step, ...(keep && { keep }) });
}

async function look(): Promise<number[]> {
  await mirror.refresh(readdirSync(folder));
  return mirror.lines.map((line) => (JSON.parse(line) as Row).step);
}

test('reads rows as they come, each once, and none before its line is whole', async () => {
  expect(await look()).toEqual([]);
  writeFileSync(path(), '{"step":1}\n{"st');
  expect(await look()).toEqual([1]);
  appendFileSync(path(), 'ep":2}\nnot json\n');
  expect(await look()).toEqual([1, 2]);
  expect(await look()).toEqual([1, 2]);
});

test('is not held up by a pipe in its place, and refuses it', async () => {
  execFileSync('mkfifo', [path()]);

  await expect(look()).rejects.toMatchObject({ code: 'store-conflict' });
});

test('reads characters of several bytes that were written in two pieces', async () => {
  const bytes = Buffer.from('{"step":1,"text":"größer"}\n');
  writeFileSync(path(), bytes.subarray(0, 21));
  await look();
  appendFileSync(path(), bytes.subarray(21));
  await look();

  expect(mirror.lines).toEqual(['{"step":1,"text":"größer"}']);
});

test('tells nothing twice across takeovers and renewals', async () => {
  const first = await open(1);
  first.append({ step: 1 });
  first.append({ step: 2 });
  await look();
  const second = await open(2);
  second.append({ step: 3 });
  expect(await look()).toEqual([1, 2, 3]);
  expect(second.renew(3)).toBe(true);
  second.append({ step: 4 });

  expect(await look()).toEqual([1, 2, 3, 4]);
  expect(mirror.cuts).toEqual([]);
  await second.close();
});

test('does not hear an attempt that was taken over, even when it puts its old file back', async () => {
  const zombie = await open(1);
  zombie.append({ step: 1 });
  copyFileSync(path(), join(folder, 'old-copy'));
  const owner = await open(2);
  owner.append({ step: 2 });
  renameSync(join(folder, 'old-copy'), path());
  appendFileSync(path(), '{"step":2,"loss":666}\n');

  expect(await look()).toEqual([1, 2]);
  expect(mirror.lines[1]).toBe('{"step":2}');
  await owner.close();
});

test('rows that a takeover has not yet are no news when they come again', async () => {
  const first = await open(1);
  for (const step of [1, 2, 3]) first.append({ step });
  await look();
  const second = await open(2, ({ step }) => step <= 1);
  expect(await look()).toEqual([1, 2, 3]);
  for (const step of [2, 3, 4]) second.append({ step });

  expect(await look()).toEqual([1, 2, 3, 4]);
  expect(mirror.cuts).toEqual([]);
  await second.close();
});

test('a row that differs from the one told in its place makes what was told from there on void', async () => {
  const first = await open(1);
  for (const step of [1, 2, 3]) first.append({ step, loss: 1 });
  await look();
  const second = await open(2, ({ step }) => step <= 1);
  second.append({ step: 2, loss: 0.5 });

  expect(await look()).toEqual([1, 2]);
  expect(mirror.lines[1]).toBe('{"step":2,"loss":0.5}');
  expect(mirror.cuts).toEqual([1]);
  await second.close();
});

test('rows that are missing when the run is over will not come any more', async () => {
  const first = await open(1);
  for (const step of [1, 2, 3]) first.append({ step });
  await look();
  const second = await open(2, ({ step }) => step <= 2);
  await look();

  mirror.settle();

  expect(await look()).toEqual([1, 2]);
  expect(mirror.cuts).toEqual([2]);
  await second.close();
});

test('passes over a row without an end, however long it is, and goes on after it', async () => {
  writeFileSync(path(), '{"step":1}\n');
  truncateSync(path(), 200 * 1024 * 1024);
  appendFileSync(path(), '"}\n{"step":2}\n{"st');
  expect(await look()).toEqual([1, 2]);

  appendFileSync(path(), 'ep":3}\n');
  expect(await look()).toEqual([1, 2, 3]);
});
