import { randomUUID } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import { namesIn } from './folder-names';
import { readJsonIfThere, writeJson } from './whole-file';

/** What stays of a run whose folder is gone. */
export interface DeletedRun {
  readonly run: string;
  /** ISO time. */
  readonly at: string;
  /** Models it had at the training service, e.g. `<uuid>:train:0`. */
  readonly models: readonly string[];
}

/**
 * Whose the checkpoints were that a deleted run leaves at its training service:
 *
 *     <store>/deleted/<run>.<uuid>.json
 */
export async function noteDeletedRun(
  store: string,
  { run, models }: Pick<DeletedRun, 'run' | 'models'>,
): Promise<void> {
  if (models.length === 0) return;
  await refuseLink(folderOf(store));
  const note: DeletedRun = { run, at: new Date().toISOString(), models };
  await writeJson(path.join(folderOf(store), `${run}.${randomUUID()}.json`), note);
}

/** What is damaged, or was put there by somebody else, is passed over. */
export async function readDeletedRuns(store: string): Promise<DeletedRun[]> {
  const folder = folderOf(store);
  const names = (await namesIn(folder)).filter((name) => name.endsWith('.json') && !name.startsWith('.'));
  const notes = await Promise.all(
    names.sort().map((name) => readJsonIfThere<DeletedRun>(path.join(folder, name))),
  );
  return notes.filter((note) => note !== null).filter(isNote);
}

function isNote({ run, at, models }: DeletedRun): boolean {
  return (
    typeof run === 'string' &&
    Number.isFinite(Date.parse(at)) &&
    Array.isArray(models) &&
    models.every((model) => typeof model === 'string')
  );
}

/** In a store that somebody else made it may lead anywhere. */
async function refuseLink(folder: string): Promise<void> {
  const entry = await lstat(folder).catch((error: unknown) => {
    if (hasErrorCode(error, 'ENOENT')) return null;
    throw error;
  });
  if (!entry || entry.isDirectory()) return;
  throw new DomainError(
    'refused',
    `${folder} is ${entry.isSymbolicLink() ? 'a link' : 'no folder'}: nothing is noted in it, and the run is not deleted. Put a folder in its place.`,
  );
}

function folderOf(store: string): string {
  return path.join(store, 'deleted');
}
