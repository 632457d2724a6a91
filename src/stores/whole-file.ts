import { randomUUID } from 'node:crypto';
import { constants, createWriteStream, renameSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile, link, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import { parseJsonObject } from './json-lines';
import { LineLimit, LONGEST_ROW_BYTES } from './line-limit';
import { makeFolderOf, makeFolderOfSync } from './make-folder';
import { openToRead, readWholeFile } from './reading';
import { asStoreError } from './system-errors';

/** Writes under a temporary name and renames, so that a reader sees the old file or the new one, never half of one. */
export async function writeWholeFile(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = temporaryName(path);
  try {
    await writeSynced(temporary, content, path);
    await rename(temporary, path);
  } catch (error) {
    await removeTemporary(temporary);
    throw asStoreError(error, path);
  }
}

/** Creates a file that must not exist yet, whole at once. False when it is there already. */
export async function createWholeFile(path: string, content: string): Promise<boolean> {
  const temporary = temporaryName(path);
  try {
    await writeSynced(temporary, content, path);
    return await linkOrCopy(temporary, path);
  } catch (error) {
    throw asStoreError(error, path);
  } finally {
    await removeTemporary(temporary);
  }
}

/** Copies a file of rows whole at once over whatever is there; nothing where there is none to copy. What is no file is refused, or has no rows. */
export async function copyWholeFile(
  from: string,
  to: string,
  { longestRow = LONGEST_ROW_BYTES } = {},
): Promise<void> {
  const source = await openToRead(from);
  if (source === null) return;
  const temporary = temporaryName(to);
  try {
    await makeFolderOf(to);
    await pipeline(
      source.createReadStream({ autoClose: false }),
      (chunks: AsyncIterable<Buffer>) => withLimit(chunks, new LineLimit(from, longestRow)),
      createWriteStream(temporary, { flags: 'wx' }),
    );
    await rename(temporary, to);
  } catch (error) {
    await removeTemporary(temporary);
    throw asStoreError(error, to);
  } finally {
    await source.close();
  }
}

async function* withLimit(chunks: AsyncIterable<Buffer>, limit: LineLimit): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    limit.take(chunk);
    yield chunk;
  }
}

/** null when there is no such file or it holds no object. */
export async function readJson<Value extends object>(path: string): Promise<Value | null> {
  return parseJsonObject<Value>((await readWholeFile(path)) ?? '');
}

/** The same, with null also for a folder or a pipe in the file's place: for lists, in which one of many may be so. */
export async function readJsonIfThere<Value extends object>(path: string): Promise<Value | null> {
  return unlessNoFile(readJson<Value>(path), null);
}

/** What was read, or something else where no file of the store is in its place. */
export async function unlessNoFile<Value, Other>(
  read: Promise<Value>,
  otherwise: Other,
): Promise<Value | Other> {
  return read.catch((error: unknown) => {
    if (error instanceof DomainError) return otherwise;
    throw error;
  });
}

export function writeJson(path: string, value: unknown): Promise<void> {
  return writeWholeFile(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** For a process that is about to end, and waits for nothing. What cannot be written is not there. */
export function writeJsonNow(path: string, value: unknown): void {
  const temporary = temporaryName(path);
  try {
    makeFolderOfSync(path);
    writeFileSync(temporary, JSON.stringify(value), { flag: 'wx' });
    renameSync(temporary, path);
  } catch {
    rmSync(temporary, { force: true });
  }
}

/** What is left of a write. Where it cannot be removed, that is not what went wrong first. */
export async function removeTemporary(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
}

/** Beside the file, so that renaming stays within the file system; dotted, so that listings pass over it. */
export function temporaryName(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
}

async function writeSynced(temporary: string, content: string | Uint8Array, path: string): Promise<void> {
  await makeFolderOf(path);
  const file = await open(temporary, 'w');
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** False where there is such a file. Some file systems have no hard links; an exclusive copy is the next best. */
export async function linkOrCopy(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return false;
    if (!hasErrorCode(error, 'EPERM', 'ENOTSUP', 'ENOSYS')) throw error;
    return copyNew(from, to);
  }
}

async function copyNew(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return false;
    throw error;
  }
}
