import { createHash, randomUUID } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { lstat, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';

/**
 * A folder of fetched files beneath `root`, which knows those that programs of this machine put there themselves. The folder may have been sent, and then its
 * files are anybody's.
 *
 * `.kept/<SHA-256>`: an empty file for each, named by its path, inode, size and last change by the clock of the disk. Nobody can set or
 * foresee these: copies, unpacked files, and files that were exchanged or written to have no note.
 *
 * Every path is relative to the folder. `refused`: a link on the way from `root` to a file leads somewhere else.
 */
export class KeptFolder {
  private readonly notes: string;

  constructor(
    private readonly root: string,
    readonly path: string,
  ) {
    this.notes = join(path, '.kept');
  }

  async has(path: string): Promise<boolean> {
    await this.requireNoLinks(path);
    const note = await this.noteOf(path);
    return note !== null && (await isThere(note));
  }

  /** Whether anything is there, whoever put it there. */
  async isTaken(path: string): Promise<boolean> {
    return isThere(join(this.path, path));
  }

  /** Null where it was not put there here. */
  async read(path: string): Promise<string | null> {
    return (await this.has(path)) ? readFile(join(this.path, path), 'utf8') : null;
  }

  /** A whole file or none, also after a power loss: what is there is not fetched again. */
  async write(path: string, write: (partial: string) => Promise<void>): Promise<void> {
    await this.requireNoLinks(path);
    const target = join(this.path, path);
    await mkdir(dirname(target), { recursive: true });
    const partial = `${target}.${randomUUID()}.partial`;
    try {
      await write(partial);
      await sync(partial);
      if ((await plainStats(target)) === null) await rm(target, { recursive: true, force: true });
      await rename(partial, target);
    } finally {
      await rm(partial, { force: true });
    }
    await this.confirm(path);
  }

  /** From now on the file that lies there counts. */
  async confirm(path: string): Promise<void> {
    const note = await this.noteOf(path);
    if (note === null) return;
    await this.requireNoLinks(relative(this.path, note));
    await mkdir(this.notes, { recursive: true });
    await writeFile(note, '');
  }

  async remove(path: string): Promise<void> {
    await this.requireNoLinks(path);
    await rm(join(this.path, path), { recursive: true, force: true });
  }

  private async noteOf(path: string): Promise<string | null> {
    const stats = await plainStats(join(this.path, path));
    if (stats === null) return null;
    const identity = [path, stats.ino, stats.size, stats.ctimeNs].join('\n');
    return join(this.notes, createHash('sha256').update(identity).digest('hex'));
  }

  /** Who sent a folder with links in it may have chosen what is read behind them, and where is written. */
  private async requireNoLinks(path: string): Promise<void> {
    let place = this.root;
    for (const name of relative(this.root, join(this.path, path)).split(sep).slice(0, -1)) {
      place = join(place, name);
      if ((await statsIfThere(place))?.isSymbolicLink() !== true) continue;
      throw new DomainError(
        'refused',
        `${JSON.stringify(place)} is a link, and what comes from the hub would be written and read where it leads. Remove it.`,
      );
    }
  }
}

/** Null where there is none, and where something else is in its place: a link has anything behind it, and a pipe is waited for. */
export async function plainStats(file: string): Promise<BigIntStats | null> {
  const stats = await statsIfThere(file);
  return stats?.isFile() === true ? stats : null;
}

async function isThere(path: string): Promise<boolean> {
  return (await statsIfThere(path)) !== null;
}

async function statsIfThere(path: string): Promise<BigIntStats | null> {
  try {
    return await lstat(path, { bigint: true });
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
