import path from 'node:path';
import { inodeOf } from '../config/folder-inode';
import { readPlainFile } from '../config/plain-file';
import { DomainError } from '../core/errors';
import { writeWhole } from './write-whole';

export const REMEDY_FOR_FOREIGN =
  'Where they are yours and go on nowhere else, `npx everstep dev --adopt` takes it over, once. Else move it away: runs of the store go on with `npx everstep recover`.';

/** Of a database that its server is about to make. */
const NEW = 'new';

/**
 * Refuses a database of the embedded server that was not made where it is. Whose workers are started on it go on with its runs, evaluations and
 * schedules: with those of somebody who sent the data folder, whose configs read files and name services, and with one's own a second time in a copy.
 */
export function requireOwnDatabase(database: string): void {
  if (inodeOf(database) === null) note(database, NEW);
  if (isOwnDatabase(database)) return;
  throw new DomainError(
    'refused',
    `The database ${database} was not made in this folder: it was copied here, or somebody sent it, or a release before this one made it. Its runs, evaluations and schedules would go on here, with the data and services that they name. ${REMEDY_FOR_FOREIGN}`,
  );
}

/** So is one that is not there yet. */
export function isOwnDatabase(database: string): boolean {
  const present = inodeOf(database);
  if (present === null) return true;
  // A server that was killed while it made it had no time to note it.
  return [present, NEW].some((what) => readNote(database) === placeOf(database, what));
}

/** Whoever gives the command says that it is theirs. */
export function adoptDatabase(database: string): void {
  const present = inodeOf(database);
  if (present !== null) note(database, present);
}

function note(database: string, what: string): void {
  writeWhole(noteOf(database), placeOf(database, what));
}

/** A copy has other inodes. */
function placeOf(database: string, what: string): string {
  return `${inodeOf(path.dirname(database)) ?? ''} ${what}\n`;
}

function readNote(database: string): string | null {
  try {
    return readPlainFile(noteOf(database));
  } catch {
    return null;
  }
}

function noteOf(database: string): string {
  return `${database}.place`;
}
