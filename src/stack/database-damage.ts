import { existsSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import { readWriteAheadLog } from './write-ahead-log';
import type { WriteAheadLog } from './write-ahead-log';
import { openIfThere } from './open-if-there';

/** What SQLite says of a file that is none of its own any more. */
const DAMAGE = /database disk image is malformed|file is not a database/;

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
/** First bytes of b-tree pages: inner and leaf pages of indexes and tables. */
const TREE_PAGES = [2, 5, 10, 13];
const PAGES_AT_ONCE = 256;
/** Besides those on the list of free pages: the one that locks are taken on, and the end of a long value of zeros. */
const SPARE_ZERO_PAGES = 2;
/** Whatever its header says: a file with holes can be longer than anybody can read. SQLite keeps the content of free pages. */
const MOST_ZERO_BYTES = 2 ** 28;

/** What SQLite opens besides, whether we read it or not. */
const BESIDE = ['-wal', '-shm', '-journal'];

/** Whether a program that uses the database has complained that it is damaged. */
export function isDamageComplaint(text: string): boolean {
  return DAMAGE.test(text);
}

/**
 * Why an SQLite database that nobody has open is damaged; null where nothing is seen, or there is none.
 *
 * Reads every page once: its header, its length, and whether each page is of a kind that there is
 * (https://www.sqlite.org/fileformat.html), none of zeros but those that are free. Pages that stand in the log beside it, as all
 * that a full disk left no room for, are not missed. Content that is wrong but well-formed is not seen.
 */
export async function findDatabaseDamage(file: string): Promise<string | null> {
  const wrongKind = await findWrongKind(file);
  if (wrongKind !== null) return wrongKind;
  const handle = await openIfThere(file);
  if (handle === null) return null;
  try {
    return await lookAt(handle, file);
  } finally {
    await handle.close();
  }
}

/**
 * Refuses to use a damaged database, with the way back. A file without a byte is none: it is removed, since the server makes its
 * tables only where there is no file.
 */
export async function requireSoundDatabase(file: string): Promise<void> {
  if (await isEmptyAlone(file)) await rm(file);
  const damage = await findDatabaseDamage(file);
  if (damage === null) return;
  throw new DomainError(
    'temporal-unavailable',
    `The database of the embedded Temporal server, ${file}, is damaged: ${damage}. ${remedyForDamage(file)}`,
  );
}

export function remedyForDamage(file: string): string {
  const files = [file, ...BESIDE.map((ending) => `${file}${ending}`)].filter((each) => existsSync(each));
  const place = freeName(`${file}.damaged`);
  return `Runs are not lost, the store has them: move the database away (mkdir ${place} && mv ${files.join(' ')} ${place}/), start \`npx everstep dev\` again, and \`npx everstep recover\` goes on with every run from its last checkpoint.`;
}

/** One from an earlier damage may be there. */
function freeName(name: string): string {
  for (let count = 1; ; count++) {
    const free = count === 1 ? name : `${name}-${count}`;
    if (!existsSync(free)) return free;
  }
}

/** A pipe would be waited for without end, by us or by the server. */
async function findWrongKind(file: string): Promise<string | null> {
  const kind = await kindOf(file);
  if (kind !== 'file' && kind !== 'nothing') return `it is ${kind}`;
  for (const ending of BESIDE) {
    const other = await kindOf(`${file}${ending}`);
    if (other !== 'file' && other !== 'nothing') return `${file}${ending} beside it is ${other}`;
  }
  return null;
}

async function kindOf(file: string): Promise<string> {
  try {
    const found = await stat(file);
    if (found.isFile()) return 'file';
    return found.isDirectory() ? 'a folder' : 'a pipe, a socket or a device';
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return 'nothing';
    throw error;
  }
}

/** What is in a log beside it is not in it yet. */
async function isEmptyAlone(file: string): Promise<boolean> {
  if ((await kindOf(file)) !== 'file') return false;
  return (await sizeOf(file)) === 0 && !(await hasLog(file));
}

async function sizeOf(file: string): Promise<number | null> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return null;
    throw error;
  }
}

async function lookAt(handle: FileHandle, file: string): Promise<string | null> {
  const { size } = await handle.stat();
  // As it is before the first page is written.
  if (size === 0) return null;
  const header = Buffer.alloc(HEADER_BYTES);
  await handle.read(header, 0, HEADER_BYTES, 0);
  const pageSize = pageSizeOf(header);
  if (typeof pageSize === 'string') return pageSize;
  const log = await readWriteAheadLog(file, pageSize);
  const inFile = Math.floor(size / pageSize);
  const expected = log?.pageCount ?? countedPages(header);
  const missing = countMissing(inFile, { expected, log });
  if (missing > 0) {
    const words = log === null ? '' : `, and ${missing} of its pages are not in the log beside it either`;
    return `it has ${size} bytes of ${expected * pageSize}${words}`;
  }
  return findBadPage(handle, {
    pageSize,
    inFile,
    pageCount: Math.max(inFile, expected),
    inLog: log?.pages ?? new Set(),
    mostZero: Math.min(
      MOST_ZERO_BYTES / pageSize,
      (await hasLog(file)) ? Number.POSITIVE_INFINITY : header.readUInt32BE(36) + SPARE_ZERO_PAGES,
    ),
  });
}

async function hasLog(file: string): Promise<boolean> {
  return ((await sizeOf(`${file}-wal`)) ?? 0) > 0;
}

/** What is wrong with it, in words, where it is no header. */
function pageSizeOf(header: Buffer): number | string {
  if (header.toString('latin1', 0, MAGIC.length) !== MAGIC) return 'it does not begin as SQLite files do';
  const stored = header.readUInt16BE(16);
  const pageSize = stored === 1 ? 65_536 : stored;
  const isSize = pageSize >= 512 && (pageSize & (pageSize - 1)) === 0;
  return isSize ? pageSize : `its page size is ${pageSize}`;
}

/** 0 where it is not known: a count of 0, or one of another change than the last, is not kept up to date. */
function countedPages(header: Buffer): number {
  return header.readUInt32BE(24) === header.readUInt32BE(92) ? header.readUInt32BE(28) : 0;
}

interface Expected {
  readonly expected: number;
  readonly log: WriteAheadLog | null;
}

/** Pages at the end that stand neither in the file nor in its log. Only pages that there are may be gone through: files say any count. */
function countMissing(inFile: number, { expected, log }: Expected): number {
  let missing = Math.max(0, expected - inFile);
  for (const page of log?.pages ?? []) if (page > inFile && page <= expected) missing--;
  return missing;
}

interface Pages {
  readonly pageSize: number;
  /** The pages that the file itself has. */
  readonly inFile: number;
  /** The pages of the database. */
  readonly pageCount: number;
  /** Pages that nobody reads from the file. */
  readonly inLog: ReadonlySet<number>;
  /** Pages that may be nothing but zeros. */
  readonly mostZero: number;
}

async function findBadPage(handle: FileHandle, pages: Pages): Promise<string | null> {
  const { pageSize, pageCount, mostZero } = pages;
  const zeros = Buffer.alloc(pageSize);
  let zeroCount = 0;
  for await (const { page, number } of pagesOf(handle, pageSize)) {
    if (pages.inLog.has(number)) continue;
    const name = `page ${number} of ${pages.inFile}`;
    if (!isPage(page, number === 1 ? HEADER_BYTES : 0, pageCount)) return `${name} holds something else`;
    if (page.equals(zeros) && ++zeroCount > mostZero) return `${name} holds nothing`;
  }
  return null;
}

/** Each is valid until the next one is asked for. */
async function* pagesOf(
  handle: FileHandle,
  pageSize: number,
): AsyncGenerator<{ readonly page: Buffer; readonly number: number }> {
  const pages = Buffer.alloc(pageSize * PAGES_AT_ONCE);
  for (let first = 1; ; first += PAGES_AT_ONCE) {
    const { bytesRead } = await handle.read(pages, 0, pages.length, (first - 1) * pageSize);
    if (bytesRead < pageSize) return;
    for (let index = 0; (index + 1) * pageSize <= bytesRead; index++) {
      yield { page: pages.subarray(index * pageSize, (index + 1) * pageSize), number: first + index };
    }
  }
}

/** A b-tree page whose cells lie inside it, or one that begins with the number of another page, as all others do. */
function isPage(page: Buffer, start: number, pageCount: number): boolean {
  if (start === 0 && page.readUInt32BE(0) <= pageCount) return true;
  const kind = page.readUInt8(start);
  const isInner = kind === 2 || kind === 5;
  const cellsEnd = start + (isInner ? 12 : 8) + 2 * page.readUInt16BE(start + 3);
  const content = page.readUInt16BE(start + 5) || 65_536;
  return TREE_PAGES.includes(kind) && cellsEnd <= content && content <= page.length;
}
