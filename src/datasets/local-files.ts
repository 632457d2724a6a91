import type { Stats } from 'node:fs';
import { statfsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCodeOf } from '../core/error-code';
import { DomainError } from '../core/errors';
import type { DatasetFile } from './dataset';
import { isDatasetFile } from './file-rows';

/** The files a path names: itself, or the dataset files of a folder in the order of their names. */
export async function findLocalFiles(path: string | readonly string[]): Promise<DatasetFile[]> {
  const paths = typeof path === 'string' ? [path] : path;
  const found = await Promise.all(paths.map(findOne));
  const files = found.flat();
  if (files.length > 0) return files;
  throw new DomainError('bad-dataset', 'No dataset file is named. Give at least one path in dataset.path.');
}

async function findOne(path: string): Promise<DatasetFile[]> {
  const stats = await statsOf(path);
  if (!stats.isDirectory()) {
    requirePlain(path, stats);
    return [{ name: path, path }];
  }
  const names = (await readdir(path)).filter(isDatasetFile).sort();
  if (names.length === 0) {
    throw new DomainError(
      'bad-dataset',
      `Folder "${path}" holds no .jsonl, .json or .parquet file. Correct dataset.path.`,
    );
  }
  const files = names.map((name) => join(path, name));
  for (const file of files) requirePlain(file, await statsOf(file));
  return files.map((file) => ({ name: file, path: file }));
}

async function statsOf(path: string): Promise<Stats> {
  return stat(path).catch((error: unknown) => {
    throw new DomainError(
      'bad-dataset',
      `Dataset file "${path}" cannot be read (looked at ${resolve(path)}): ${whyUnread(error)}. Correct dataset.path.`,
      { cause: error },
    );
  });
}

/** Whoever opens a pipe waits for its writer, for ever and out of reach of Ctrl-C; a device has no end. */
function requirePlain(path: string, stats: Stats): void {
  const kind = unreadableKind(path, stats);
  if (kind === null) return;
  throw new DomainError(
    'bad-dataset',
    `Dataset file "${path}" cannot be read: ${kind}. Name a file, or a folder of files.`,
  );
}

/** `PROC_SUPER_MAGIC` and `SYSFS_MAGIC` of `linux/magic.h`. */
const SYSTEMS_OWN = [0x9fa0, 0x62656572];

/** What is no plain file, in words; null for one. Some that the system makes keep their reader waiting, or fail in the middle. */
export function unreadableKind(path: string, stats: Stats): string | null {
  if (stats.isDirectory()) return 'it is a folder';
  if (!stats.isFile()) return 'it is no plain file, but a pipe, a socket or a device';
  const isSystemsOwn = stats.size === 0 && SYSTEMS_OWN.includes(statfsSync(path).type);
  return isSystemsOwn ? 'it is no plain file, but one that the system makes' : null;
}

const REFUSED = ['ENOENT', 'EACCES', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP'];

/** Refuses a path that names no file, by the key of the config that holds it. */
export async function requireFile(path: string, key?: string): Promise<void> {
  const reason = await stat(path).then(
    (stats) => unreadableKind(path, stats),
    (error: unknown) => {
      if (REFUSED.includes(errorCodeOf(error))) return whyUnread(error);
      throw error;
    },
  );
  if (reason === null) return;
  const place = key === undefined ? '' : `${key}: `;
  const remedy =
    key === undefined
      ? 'Correct the path.'
      : 'Correct it: relative paths start at the folder of the config file, those in --set at the current one.';
  throw new DomainError(
    'bad-dataset',
    `${place}file "${resolve(path)}" cannot be read: ${reason}. ${remedy}`,
  );
}

/** What the operating system says of a path, in words. */
export function whyUnread(error: unknown): string {
  const code = errorCodeOf(error);
  if (code === 'ENOENT') return 'it does not exist';
  if (code === 'EACCES') return 'permission denied';
  if (code === 'ELOOP') return 'it is a link that leads back to itself';
  return String(error);
}
