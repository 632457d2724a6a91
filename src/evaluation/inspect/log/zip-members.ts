import { inflateRawSync } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';
import { openPromise } from 'yauzl';
import { hasErrorCode } from '../../../core/error-code';
import { DomainError } from '../../../core/errors';
import { decompressZstandard } from './zstandard';

const STORED = 0;
const DEFLATE = 8;
const ZSTANDARD = 93;

export interface ZipLimits {
  /** Members an archive may list. */
  readonly members: number;
  /** Bytes one member may come to. */
  readonly memberBytes: number;
}

/** How often its own size an archive and each of its members may come to, and what every one may: logs repeat themselves, but not so. */
const MOST_GROWTH = 200;
const ALWAYS_MEMBERS = 4;
const ALWAYS_MEMBER_BYTES = 32 * 1024 * 1024;
/** Before the bytes of a member, its name aside. */
const LOCAL_HEADER_BYTES = 30;

/** Members of a zip archive by name, read as they are asked for. Names are never used as paths. */
export class ZipMembers {
  private unpackedBytes = 0;

  private constructor(
    private readonly file: ZipFile,
    private readonly entries: ReadonlyMap<string, Entry>,
    private readonly limits: ZipLimits,
  ) {}

  static async open(path: string, limits: ZipLimits): Promise<ZipMembers> {
    // Without names being decoded the library checks none: they stay keys here, and a sample may be called anything.
    const file = await openPromise(path, { autoClose: false, decodeStrings: false });
    try {
      if (file.entryCount > limits.members) {
        throw new DomainError(
          'bad-dataset',
          `It lists ${file.entryCount} members; ${limits.members} are read.`,
        );
      }
      const entries = await listEntries(file);
      requireNoBomb(entries, mostBytesOf(file, limits));
      // Of members of one name the last counts: a log is appended to.
      const byName = new Map(entries.map((entry) => [entry.fileNameRaw.toString('utf8'), entry]));
      return new ZipMembers(file, byName, limits);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  get names(): string[] {
    return [...this.entries.keys()];
  }

  /** null where there is no such member. */
  async read(name: string): Promise<string | null> {
    const entry = this.entries.get(name);
    if (!entry) return null;
    const memberBytes = Math.min(
      this.limits.memberBytes,
      Math.max(ALWAYS_MEMBER_BYTES, MOST_GROWTH * this.file.fileSize),
    );
    if (Math.max(entry.uncompressedSize, entry.compressedSize) > memberBytes) throw tooLarge(memberBytes);
    const data = unpack(await readRaw(this.file, entry), entry, memberBytes);
    this.count(data.length);
    return Buffer.from(data).toString('utf8');
  }

  /** What the directory says of sizes is only what somebody wrote. */
  private count(bytes: number): void {
    this.unpackedBytes += bytes;
    const most = mostBytesOf(this.file, this.limits);
    if (this.unpackedBytes > most) throw bomb(`Its members come to more than ${most} bytes`);
  }

  close(): void {
    this.file.close();
  }
}

async function listEntries(file: ZipFile): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of file.eachEntry()) entries.push(entry);
  return entries;
}

function mostBytesOf({ fileSize }: ZipFile, { memberBytes }: ZipLimits): number {
  return Math.max(ALWAYS_MEMBERS * memberBytes, MOST_GROWTH * fileSize);
}

/** Each member may be small enough: it is all of them together that fill a disk. Nothing is unpacked to find out. */
function requireNoBomb(entries: readonly Entry[], mostBytes: number): void {
  const bytes = entries.reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0);
  if (bytes > mostBytes) throw bomb(`Its members come to ${bytes} bytes, more than ${mostBytes}`);
  const places = entries.map((entry) => [entry.relativeOffsetOfLocalHeader, entry.compressedSize] as const);
  places.sort(([one], [other]) => one - other);
  let end = 0;
  for (const [start, size] of places) {
    if (start < end) throw bomb('Its members share their bytes');
    end = start + LOCAL_HEADER_BYTES + size;
  }
}

function bomb(what: string): DomainError {
  return new DomainError('bad-dataset', `${what}, which is no log but a bomb.`);
}

async function readRaw(file: ZipFile, entry: Entry): Promise<Buffer> {
  const stream = await file.openReadStreamPromise(entry, { decodeFileData: false });
  const parts: Uint8Array[] = [];
  for await (const part of stream) if (part instanceof Uint8Array) parts.push(part);
  return Buffer.concat(parts);
}

function unpack(data: Buffer, { compressionMethod: method }: Entry, limit: number): Uint8Array {
  if (method === STORED) return data;
  if (method === ZSTANDARD) return decompressZstandard(data, limit);
  if (method === DEFLATE) return inflate(data, limit);
  throw new DomainError('bad-dataset', `It holds a member packed by method ${method}; 0, 8 and 93 are read.`);
}

function inflate(data: Buffer, limit: number): Uint8Array {
  try {
    return inflateRawSync(data, { maxOutputLength: limit });
  } catch (error) {
    if (hasErrorCode(error, 'ERR_BUFFER_TOO_LARGE')) throw tooLarge(limit);
    throw error;
  }
}

function tooLarge(limit: number): DomainError {
  return new DomainError('bad-dataset', `It holds a member of more than ${limit} bytes.`);
}
