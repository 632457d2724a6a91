import {
  closeSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { hasErrorCode } from '../core/error-code';
import { DomainError } from '../core/errors';
import { makeFolderOfSync } from './make-folder';
import { openToReadSync, readWholeFileSync } from './reading';
import { asStoreError } from './system-errors';
import { temporaryName } from './whole-file';

/** Rows on their way into the journal. */
export interface Draft {
  readonly path: string;
  readonly descriptor: number;
}

interface Generation {
  readonly epoch: number;
  readonly path: string;
}

/**
 * Which attempt may write a journal, and which file holds its rows.
 *
 * ```
 * metrics.jsonl                    what everybody reads: a hard link to the newest generation
 * metrics.jsonl.lease              epoch of the attempt that may write
 * .metrics.jsonl.generation-<n>    rows as the attempt of epoch n writes them
 * ```
 *
 * Each takeover has a file of its own, so an attempt that wakes up after its successor started writes into a file
 * nobody reads. The generation keeps the rows also when such an attempt wakes up in the middle of its own takeover and
 * renames an old copy over `metrics.jsonl`.
 */
export class JournalFence {
  private readonly leasePath: string;

  constructor(
    private readonly path: string,
    private epoch: number,
  ) {
    this.leasePath = `${path}.lease`;
    try {
      makeFolderOfSync(path);
    } catch (error) {
      throw asStoreError(error, path);
    }
  }

  /** Throws `superseded` when a later attempt has taken over. */
  check(): void {
    const held = this.heldEpoch();
    if (held <= this.epoch) return;
    throw new DomainError(
      'superseded',
      `${basename(this.path)} now belongs to a later attempt (${held}, this is ${this.epoch}). Whoever has it goes on: a later attempt of the same work, or another workflow that took it over.`,
    );
  }

  /** Shuts out every attempt of a lower epoch. */
  raise(): void {
    this.check();
    replaceFile(this.leasePath, `${this.epoch}\n`);
    this.check();
  }

  /**
   * Hands the file with this inode, which is the newest and stays open, on to a later attempt of the same process.
   * False when anybody else had the journal in between: then it has to be taken over.
   */
  renew(epoch: number, inode: bigint): boolean {
    if (this.heldEpoch() !== this.epoch || !this.isShown(inode)) return false;
    const own = this.generationPath(this.epoch);
    replaceFile(this.leasePath, `${epoch}\n`);
    try {
      renameSync(own, this.generationPath(epoch));
    } catch (error) {
      // Taken over in this very moment, or no hard links here.
      if (hasErrorCode(error, 'ENOENT')) return false;
      throw asStoreError(error, own);
    }
    this.epoch = epoch;
    return this.heldEpoch() === epoch && this.isShown(inode);
  }

  /** Opens the rows as the last attempt left them; null where there are none. */
  openNewest(): number | null {
    const newest = this.newestGeneration();
    try {
      return openToReadSync(newest?.path ?? this.path);
    } catch (error) {
      throw asStoreError(error, this.path);
    }
  }

  /** A new file, open for reading and appending, that nobody else sees before it is published. */
  draft(): Draft {
    const path = temporaryName(this.path);
    try {
      return { path, descriptor: openSync(path, 'ax+') };
    } catch (error) {
      throw asStoreError(error, path);
    }
  }

  /** Puts a finished draft in the journal's place. Throws `superseded` when a later attempt was there first. */
  publish(draft: Draft): void {
    this.check();
    const own = this.generationPath(this.epoch);
    renameSync(draft.path, own);
    this.show(own);
    if (this.heldEpoch() > this.epoch) {
      this.showNewest();
      this.removeGenerationsBefore(this.newestGeneration()?.epoch ?? this.epoch);
      this.check();
    }
    this.removeGenerationsBefore(this.epoch);
  }

  /** Closes a draft that will not be published; also one of whose publishing was superseded. */
  discard({ path, descriptor }: Draft): void {
    closeSync(descriptor);
    removeTemporary(path);
  }

  /** Whether readers see the file with this inode. */
  isShown(inode: bigint): boolean {
    try {
      return statSync(this.path, { bigint: true }).ino === inode;
    } catch (error) {
      if (hasErrorCode(error, 'ENOENT')) return false;
      throw asStoreError(error, this.path);
    }
  }

  private removeGenerationsBefore(limit: number): void {
    for (const { epoch, path } of this.generations()) if (epoch < limit) rmSync(path, { force: true });
  }

  private showNewest(): void {
    const newest = this.newestGeneration();
    if (newest) this.show(newest.path);
  }

  private show(generation: string): void {
    const temporary = temporaryName(this.path);
    try {
      linkSync(generation, temporary);
    } catch (error) {
      if (!hasErrorCode(error, 'EPERM', 'ENOTSUP', 'ENOSYS')) throw error;
      // No hard links here: the generation itself becomes the journal.
      renameSync(generation, this.path);
      return;
    }
    renameSync(temporary, this.path);
    // Renaming does nothing where both names are the same file already.
    rmSync(temporary, { force: true });
  }

  /** A generation counts like the lease: an attempt that woke up late may have lowered the lease. */
  private heldEpoch(): number {
    const epoch = Number.parseInt(readText(this.leasePath), 10);
    return Math.max(Number.isNaN(epoch) ? -1 : epoch, this.newestGeneration()?.epoch ?? -1);
  }

  private newestGeneration(): Generation | undefined {
    return this.generations().at(-1);
  }

  private generations(): Generation[] {
    const prefix = basename(this.generationPath(0)).slice(0, -1);
    return this.names()
      .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
      .map((name) => ({ epoch: Number(name.slice(prefix.length)), path: join(dirname(this.path), name) }))
      .sort((left, right) => left.epoch - right.epoch);
  }

  private names(): string[] {
    try {
      return readdirSync(dirname(this.path));
    } catch (error) {
      throw asStoreError(error, this.path);
    }
  }

  private generationPath(epoch: number): string {
    return join(dirname(this.path), `.${basename(this.path)}.generation-${epoch}`);
  }
}

function replaceFile(path: string, text: string): void {
  const temporary = temporaryName(path);
  try {
    writeFileSync(temporary, text);
    renameSync(temporary, path);
  } catch (error) {
    removeTemporary(temporary);
    throw asStoreError(error, path);
  }
}

/** Where it cannot be removed, that is not what went wrong first. */
function removeTemporary(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // It is dotted: listings pass over it.
  }
}

function readText(path: string): string {
  try {
    return readWholeFileSync(path) ?? '';
  } catch (error) {
    throw asStoreError(error, path);
  }
}
