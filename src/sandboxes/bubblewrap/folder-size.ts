import type { Dirent, Stats } from 'node:fs';
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
} from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { hasErrorCode } from '../../core/error-code';

/** Unsure where something was not to be seen: it moved or vanished meanwhile, or lies where we may not look. */
export type Fill = 'within' | 'over' | 'unsure';

/** So many files are too many, however small. */
const MOST_FILES = 10_000;
const BLOCK_BYTES = 512;
/** The clock of files goes in steps of up to this. */
const TICK_MS = 10;
/** Linux's own: what is opened so can be named and asked about, and needs no rights. */
const O_PATH = 0x200000;
const LISTED = 0o500;
const MODE = 0o7777;

/** Whether the files of a folder take more than they may, while a program works in it. */
export async function fillOf(folder: string, diskBytes: number): Promise<Fill> {
  const quietSinceMs = Date.now() - TICK_MS;
  const count = new Count(folder, diskBytes);
  for (const each of count.folders) {
    const entries = await readdir(each, { withFileTypes: true }).catch(count.miss);
    for (const place of count.filesAmong(each, entries ?? [])) {
      count.addFile(await lstat(place).catch(count.miss));
      if (count.isOver) return 'over';
    }
    if (count.isOver) return 'over';
  }
  // What moves from one folder to another may be in neither when that is looked at.
  return count.fill === 'within' && (await hasChanged(count.folders, quietSinceMs)) ? 'unsure' : count.fill;
}

/** Not even the program can set the time that is looked at. */
async function hasChanged(folders: readonly string[], sinceMs: number): Promise<boolean> {
  for (const folder of folders) {
    const stat = await lstat(folder).catch(() => null);
    if (stat === null || stat.ctimeMs >= sinceMs) return true;
  }
  return false;
}

interface ClosedFolder {
  readonly place: string;
  readonly mode: number;
}

/** The same where nobody works in the folder: also of folders that a program has closed, which are as closed afterwards. */
export function fillAtRest(folder: string, diskBytes: number): Fill {
  const count = new Count(folder, diskBytes);
  const closed: ClosedFolder[] = [];
  try {
    for (const each of count.folders) {
      addFolder(count, each, closed);
      if (count.isOver) return 'over';
    }
    return count.fill;
  } finally {
    // What lies deepest first: its way leads through the others.
    for (const { place, mode } of closed.reverse()) close(place, mode);
  }
}

function addFolder(count: Count, place: string, closed: ClosedFolder[]): void {
  try {
    const mode = openUp(place);
    if (mode !== null) closed.push({ place, mode });
    const entries = readdirSync(place, { withFileTypes: true });
    for (const file of count.filesAmong(place, entries)) count.addFile(lstatSync(file));
  } catch (error) {
    count.miss(error);
  }
}

/** The mode it had; null where it can be listed. */
function openUp(place: string): number | null {
  return setMode(place, (mode, name) => {
    try {
      accessSync(name, constants.R_OK | constants.X_OK);
      return null;
    } catch {
      return mode | LISTED;
    }
  });
}

function close(place: string, mode: number): void {
  try {
    setMode(place, () => mode);
  } catch {
    // It has moved in its program's last system call.
  }
}

/** A link in place of the folder is not followed. Returns the mode before; null where there is no other to set. */
function setMode(place: string, other: (mode: number, name: string) => number | null): number | null {
  const descriptor = openSync(place, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const name = `/proc/self/fd/${descriptor}`;
    const mode = fstatSync(descriptor).mode & MODE;
    const next = other(mode, name);
    if (next !== null) chmodSync(name, next);
    return next === null ? null : mode;
  } finally {
    closeSync(descriptor);
  }
}

class Count {
  readonly folders: string[];
  private bytes = 0;
  private files = 0;
  private isSure = true;
  private isTooDeep = false;

  constructor(
    folder: string,
    private readonly diskBytes: number,
  ) {
    this.folders = [folder];
  }

  get isOver(): boolean {
    return this.isTooDeep || this.bytes > this.diskBytes || this.files > MOST_FILES;
  }

  get fill(): Fill {
    if (this.isOver) return 'over';
    return this.isSure ? 'within' : 'unsure';
  }

  /** The folders among them wait for their turn. */
  filesAmong(folder: string, entries: readonly Dirent[]): string[] {
    this.files += entries.length;
    const placeOf = (entry: Dirent) => path.join(folder, entry.name);
    this.folders.push(...entries.filter((entry) => entry.isDirectory()).map(placeOf));
    return entries.filter((entry) => !entry.isDirectory()).map(placeOf);
  }

  /** What it takes on the disk: a file may claim a length that it has not. */
  addFile(stat: Stats | null): void {
    this.bytes += (stat?.blocks ?? 0) * BLOCK_BYTES;
  }

  /** Nobody can count what lies below a path that is longer than the system takes. */
  readonly miss = (error: unknown): null => {
    if (hasErrorCode(error, 'ENAMETOOLONG')) this.isTooDeep = true;
    else this.isSure = false;
    return null;
  };
}
