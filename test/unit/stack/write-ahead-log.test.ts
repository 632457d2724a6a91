import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findDatabaseDamage } from '../../../src/stack/database-damage';
import { readWriteAheadLog } from '../../../src/stack/write-ahead-log';

const PAGE = 4096;

/** A database of SQLite's own, moved into its file by a checkpoint while its log is kept, and what stands in each of the two. */
const MAKE = `
import sqlite3, shutil, sys
file, kind = sys.argv[1], sys.argv[2]
database = sqlite3.connect(file, isolation_level=None)
database.execute('PRAGMA journal_mode = wal')
database.execute('PRAGMA wal_autocheckpoint = 0')
database.execute('CREATE TABLE event (id INTEGER PRIMARY KEY, body BLOB)')
if kind == 'half':
    database.executemany('INSERT INTO event (body) VALUES (?)', [(bytes([65]) * 9000,)] * 20)
    database.execute('PRAGMA wal_checkpoint(RESTART)')
    database.execute('UPDATE event SET body = ? WHERE id = 1', (bytes([66]) * 9000,))
else:
    database.execute('BEGIN')
    database.executemany('INSERT INTO event (body) VALUES (?)', [(bytes([65]) * 9000,)] * 40)
    database.execute('COMMIT')
database.execute('PRAGMA wal_checkpoint(FULL)')
shutil.copy(file, file + '.copy')
shutil.copy(file + '-wal', file + '.copy-wal')
`;

const CHECK = `
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
print(database.execute('PRAGMA integrity_check').fetchone()[0], database.execute('SELECT count(*) FROM event').fetchone()[0])
`;

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-log-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function make(kind: 'whole' | 'half'): void {
  file = join(folder, `${kind}.db.copy`);
  execFileSync('python3', ['-c', MAKE, join(folder, `${kind}.db`), kind]);
}

test('a database whose last pages only its log has is sound, as SQLite finds it', async () => {
  make('whole');
  const pages = statSync(file).size / PAGE;
  truncateSync(file, (pages - 21) * PAGE);

  expect((await readWriteAheadLog(file, PAGE))?.pageCount).toBe(pages);
  expect(await findDatabaseDamage(file)).toBeNull();
  expect(execFileSync('python3', ['-c', CHECK, file], { encoding: 'utf8' })).toBe('ok 40\n');
});

test('one cut in the middle of a page is sound too where the log has that page', async () => {
  make('whole');
  truncateSync(file, statSync(file).size - 21 * PAGE - 1000);

  expect(await findDatabaseDamage(file)).toBeNull();
});

test('a cut database without a log is damaged', async () => {
  make('whole');
  const { size } = statSync(file);
  truncateSync(file, size - 21 * PAGE);
  rmSync(`${file}-wal`);

  expect(await findDatabaseDamage(file)).toBe(`it has ${size - 21 * PAGE} bytes of ${size}`);
});

test('a log that does not have the missing pages, or is of another time, mends nothing', async () => {
  make('half');
  const { size } = statSync(file);
  truncateSync(file, size - 5 * PAGE);
  expect(await findDatabaseDamage(file)).toBe(
    `it has ${size - 5 * PAGE} bytes of ${size}, and 5 of its pages are not in the log beside it either`,
  );

  make('whole');
  const { size: whole } = statSync(file);
  truncateSync(file, whole - 21 * PAGE);
  const log = readFileSync(`${file}-wal`);
  for (const at of [16, 40, 32 + 24 + 200]) {
    const changed = Buffer.from(log);
    changed[at] = (changed[at] ?? 0) ^ 1;
    writeFileSync(`${file}-wal`, changed);
    expect(await findDatabaseDamage(file)).toBe(`it has ${whole - 21 * PAGE} bytes of ${whole}`);
  }
});

test('a change whose end is not in the log never was', async () => {
  make('whole');
  copyFileSync(`${file}-wal`, join(folder, 'whole-wal'));
  truncateSync(`${file}-wal`, statSync(`${file}-wal`).size - 1);
  const log = await readWriteAheadLog(file, PAGE);

  expect(log?.pageCount).toBe(2);
  expect([...(log?.pages ?? [])]).toEqual([1, 2]);
});

test('where there is no log, or another file in its place, nothing stands in it', async () => {
  file = join(folder, 'temporal.db');
  expect(await readWriteAheadLog(file, PAGE)).toBeNull();
  writeFileSync(`${file}-wal`, 'pages');
  expect(await readWriteAheadLog(file, PAGE)).toBeNull();
});

/** The sum of https://www.sqlite.org/fileformat.html, of big-endian words. */
function sumOf(bytes: Buffer, [first, second]: readonly [number, number]): [number, number] {
  let sum: [number, number] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    const one = (sum[0] + bytes.readUInt32BE(at) + sum[1]) >>> 0;
    sum = [one, (sum[1] + bytes.readUInt32BE(at + 4) + one) >>> 0];
  }
  return sum;
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => bytes.writeUInt32BE(value >>> 0, index * 4));
  return bytes;
}

/** One change: `page`, after which the database has `pageCount` pages. */
function logOf(page: number, pageCount: number): Buffer {
  const start = words(0x37_7f_06_83, 3_007_000, PAGE, 0, 1, 2);
  const content = Buffer.alloc(PAGE, 5);
  const change = words(page, pageCount);
  const sum = sumOf(start, [0, 0]);
  const changeSum = sumOf(content, sumOf(change, sum));
  return Buffer.concat([start, words(...sum), change, words(1, 2), words(...changeSum), content]);
}

test('a log of one change that says any count of pages is looked at once', async () => {
  make('half');
  const { size } = statSync(file);
  const pageCount = 0xff_ff_ff_fe;
  writeFileSync(`${file}-wal`, logOf(pageCount, pageCount));
  const has = jest.spyOn(Set.prototype, 'has');

  const damage = await findDatabaseDamage(file);

  expect(has.mock.calls.length).toBeLessThan(1_000_000);
  has.mockRestore();
  expect(damage).toBe(
    `it has ${size} bytes of ${pageCount * PAGE}, and ${pageCount - size / PAGE - 1} of its pages are not in the log beside it either`,
  );
});

test('a log of holes is not read to its end, although the sums of nothing are right', async () => {
  file = join(folder, 'temporal.db');
  // The third and the fifth mean nothing here, and are chosen so that both sums are zero, as those of zeros after them.
  const start = words(0x37_7f_06_83, 2_432_819_962, PAGE, 931_075_715, 0, 0);
  expect(sumOf(start, [0, 0])).toEqual([0, 0]);
  writeFileSync(`${file}-wal`, Buffer.concat([start, words(0, 0)]));
  truncateSync(`${file}-wal`, 2 ** 43);

  expect(await readWriteAheadLog(file, PAGE)).toBeNull();
});
