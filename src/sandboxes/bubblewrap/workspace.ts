import { constants } from 'node:fs';
import { chown, lstat, mkdir, open, realpath, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DomainError } from '../../core/errors';
import { checkedPath, checkReadSize } from '../sandbox';
import { NOBODY } from './command';

const ZEROS_BYTES = 64 * 1024 ** 3;

/**
 * The working folder of a sandbox, seen from outside, where programs may have left anything: links to elsewhere, pipes,
 * devices. Nothing outside the folder is read or written through it.
 */
export class Workspace {
  /** A file beside the folder, of zeros that take no place: what programs read as `/dev/zero`. */
  readonly zeros: string;

  constructor(readonly folder: string) {
    this.zeros = `${folder}.zeros`;
  }

  async create(): Promise<void> {
    await mkdir(this.folder, { mode: 0o700 });
    await this.giveAway(this.folder);
    await writeFile(this.zeros, '', { mode: 0o644 });
    await truncate(this.zeros, ZEROS_BYTES);
  }

  async write(file: string, content: string | Uint8Array): Promise<void> {
    const place = await this.placeOf(file, true);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | safely();
    const handle = await openPlain(place, file, flags);
    try {
      await handle.writeFile(content);
      await this.giveAway(place);
    } finally {
      await handle.close();
    }
  }

  async read(file: string): Promise<Uint8Array> {
    const place = await this.placeOf(file, false);
    const handle = await openPlain(place, file, constants.O_RDONLY | safely());
    try {
      checkReadSize(file, (await handle.stat()).size);
      return await handle.readFile();
    } finally {
      await handle.close();
    }
  }

  private async placeOf(file: string, shouldMakeFolders: boolean): Promise<string> {
    const place = path.join(this.folder, checkedPath(file));
    try {
      if (shouldMakeFolders) await this.makeFolders(path.dirname(place));
      const folder = await realpath(path.dirname(place));
      const root = await realpath(this.folder);
      if (folder === root || folder.startsWith(`${root}/`)) return path.join(folder, path.basename(place));
    } catch (cause) {
      throw notThere(file, cause);
    }
    throw notThere(file);
  }

  /** One after another, so that none is made behind a link that a program left. */
  private async makeFolders(folder: string): Promise<void> {
    let place = this.folder;
    for (const part of path.relative(this.folder, folder).split('/').filter(Boolean)) {
      place = path.join(place, part);
      const found = await lstat(place).catch(() => null);
      if (found?.isDirectory()) continue;
      await mkdir(place);
      await this.giveAway(place);
    }
  }

  private async giveAway(place: string): Promise<void> {
    if (process.getuid?.() === 0) await chown(place, NOBODY, NOBODY);
  }
}

/** Links are not followed, and opening a pipe does not wait for its other end. */
function safely(): number {
  return constants.O_NOFOLLOW | constants.O_NONBLOCK;
}

async function openPlain(place: string, file: string, flags: number) {
  const handle = await open(place, flags, 0o644).catch((cause: unknown) => {
    throw notThere(file, cause);
  });
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw notThere(file);
}

function notThere(file: string, cause?: unknown): DomainError {
  return new DomainError('refused', `sandbox: there is no plain file ${file} in the working folder.`, {
    cause,
  });
}
