import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openIfThere } from '../../../src/stack/open-if-there';
import { findDatabaseDamage, requireSoundDatabase } from '../../../src/stack/database-damage';

const PAGE = 4096;

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-damage-'));
  file = join(folder, 'temporal.db');
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The header of https://www.sqlite.org/fileformat.html on a leaf page, further leaves, and an overflow page that ends a chain. */
function database(pages = 600): Buffer {
  const bytes = Buffer.alloc(pages * PAGE);
  bytes.write('SQLite format 3\0', 'latin1');
  bytes.writeUInt16BE(PAGE, 16);
  bytes.writeUInt32BE(7, 24);
  bytes.writeUInt32BE(pages, 28);
  bytes.writeUInt32BE(7, 92);
  for (let page = 0; page < pages - 1; page++) {
    const start = page * PAGE + (page === 0 ? 100 : 0);
    bytes.writeUInt8(13, start);
    bytes.writeUInt16BE(PAGE - 10, start + 5);
  }
  return bytes;
}

async function damageOf(bytes: Uint8Array): Promise<string | null> {
  writeFileSync(file, bytes);
  return findDatabaseDamage(file);
}

test('a sound database, an empty one and none at all have no damage', async () => {
  expect(await findDatabaseDamage(file)).toBeNull();
  expect(await damageOf(Buffer.alloc(0))).toBeNull();
  expect(await damageOf(database())).toBeNull();
});

test('another file, a cut one and one with foreign pages are damaged', async () => {
  expect(await damageOf(Buffer.from('garbage'))).toMatch(/does not begin as SQLite/);
  expect(await damageOf(database().subarray(0, 599 * PAGE))).toBe('it has 2453504 bytes of 2457600');
  const overwritten = database();
  overwritten.fill('garbage', 400 * PAGE, 401 * PAGE);
  expect(await damageOf(overwritten)).toBe('page 401 of 600 holds something else');
});

test('pages of zeros are damage, unless they are free or stand in the log', async () => {
  const zeroed = database();
  zeroed.fill(0, 400 * PAGE, 492 * PAGE);
  expect(await damageOf(zeroed)).toBe('page 403 of 600 holds nothing');

  zeroed.writeUInt32BE(95, 36);
  expect(await damageOf(zeroed)).toBeNull();

  zeroed.writeUInt32BE(0, 36);
  writeFileSync(`${file}-wal`, 'pages');
  expect(await damageOf(zeroed)).toBeNull();
});

test('a folder or a pipe in its place is named at once', async () => {
  mkdirSync(file);
  await expect(requireSoundDatabase(file)).rejects.toThrow(
    `${file}, is damaged: it is a folder. Runs are not lost`,
  );
  rmSync(file, { recursive: true });
  execFileSync('mkfifo', [file]);
  await expect(requireSoundDatabase(file)).rejects.toThrow('is damaged: it is a pipe, a socket or a device.');
});

test.each(['-wal', '-shm', '-journal'])(
  'a pipe in place of %s, which the server would open, is named at once',
  async (ending) => {
    writeFileSync(file, database());
    execFileSync('mkfifo', [`${file}${ending}`]);

    const refusal = requireSoundDatabase(file);

    await expect(refusal).rejects.toThrow(`${file}${ending} beside it is a pipe, a socket or a device.`);
    await expect(refusal).rejects.toThrow(`mv ${file} ${file}${ending} ${file}.damaged/`);
  },
);

test('a pipe that is there in the moment that it is opened is refused too', async () => {
  execFileSync('mkfifo', [file]);

  await expect(openIfThere(file)).rejects.toThrow(`"${file}" is no plain file. Remove it.`);
});

test('a header of some bytes that says any count of pages is looked at once', async () => {
  const bytes = database(1);
  bytes.writeUInt32BE(0xff_ff_ff_fe, 28);

  expect(await damageOf(bytes)).toBe(`it has 4096 bytes of ${0xff_ff_ff_fe * PAGE}`);
});

test('a file of holes is not read to its end, however many free pages it says', async () => {
  const bytes = database(2).subarray(0, PAGE);
  bytes.writeUInt16BE(1, 16);
  bytes.writeUInt32BE(0, 28);
  bytes.writeUInt32BE(0xff_ff_ff_ff, 36);
  writeFileSync(file, bytes);
  truncateSync(file, 2 ** 43);

  expect(await findDatabaseDamage(file)).toBe('page 4098 of 134217728 holds nothing');
});

test('the way back can be gone twice, as it is written', async () => {
  for (const place of ['temporal.db.damaged', 'temporal.db.damaged-2']) {
    writeFileSync(file, 'garbage');
    const failure = await requireSoundDatabase(file).catch((error: unknown) => String(error));
    const [, command = ''] = /\((mkdir [^)]*)\)/.exec(String(failure)) ?? [];
    execFileSync('sh', ['-c', command]);

    expect(readdirSync(join(folder, place))).toEqual(['temporal.db']);
    expect(existsSync(file)).toBe(false);
  }
});

describe('a file without a byte, which the server takes for a database without tables', () => {
  test('is removed, so that the next start makes one', async () => {
    writeFileSync(file, '');

    await requireSoundDatabase(file);

    expect(existsSync(file)).toBe(false);
  });

  test('is left where what is in it stands in its log', async () => {
    writeFileSync(file, '');
    writeFileSync(`${file}-wal`, 'pages');

    await requireSoundDatabase(file);

    expect(existsSync(file)).toBe(true);
  });
});
