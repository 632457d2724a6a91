import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';

/**
 * Which files of a folder programs of this machine put there themselves. A folder may have been sent, and then its files are anybody's.
 *
 * `.kept/<SHA-256>`: an empty file for each, named by its path, inode, size and last change by the clock of the disk. Nobody can set or
 * foresee these: copies, unpacked files, and files that were exchanged or written to have no note.
 */
export class KeptHere {
  private readonly notes: string;

  constructor(private readonly folder: string) {
    this.notes = join(folder, '.kept');
  }

  async has(path: string): Promise<boolean> {
    const note = await this.noteOf(path);
    return note !== null && (await isThere(note));
  }

  async add(path: string): Promise<void> {
    const note = await this.noteOf(path);
    if (note === null) return;
    await mkdir(this.notes, { recursive: true });
    await writeFile(note, '');
  }

  /** Null where it was not put there here. */
  async read(path: string): Promise<string | null> {
    return (await this.has(path)) ? readFile(join(this.folder, path), 'utf8') : null;
  }

  private async noteOf(path: string): Promise<string | null> {
    const stats = await plainStats(join(this.folder, path));
    if (stats === null) return null;
    const identity = [path, stats.ino, stats.size, stats.ctimeNs].join('\n');
    return join(this.notes, createHash('sha256').update(identity).digest('hex'));
  }
}

/** Null where there is none, and where something else is in its place: a link has anything behind it, and a pipe is waited for. */
export async function plainStats(file: string): Promise<BigIntStats | null> {
  const stats = await statsIfThere(file);
  return stats?.isFile() === true ? stats : null;
}

export async function isThere(path: string): Promise<boolean> {
  return (await statsIfThere(path)) !== null;
}

/** Refuses to write beneath a folder where a link on the way leads somewhere else: who sent the folder may have chosen where, and what. */
export async function requireNoLinks(folder: string, target: string): Promise<void> {
  let place = folder;
  for (const name of relative(folder, target).split(sep).slice(0, -1)) {
    place = join(place, name);
    if ((await statsIfThere(place))?.isSymbolicLink() !== true) continue;
    throw new DomainError(
      'refused',
      `${JSON.stringify(place)} is a link, and what comes from the hub would be written where it leads. Remove it.`,
    );
  }
}

async function statsIfThere(path: string): Promise<BigIntStats | null> {
  try {
    return await lstat(path, { bigint: true });
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  }
}
