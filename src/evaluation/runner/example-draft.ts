import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { open, rename, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { shuffledIndices } from '../../core/random';
import { makeFolderOf } from '../../stores/make-folder';
import { asStoreError } from '../../stores/system-errors';
import { temporaryName } from '../../stores/whole-file';
import type { Example } from '../example';
import type { ShardPart } from './benchmark-plan';
import { changed, FrozenExamples, hashOfFrozen } from './frozen-examples';
import { LineFile } from './line-file';

export interface DraftOrder {
  /** In the order of their rows. */
  readonly examples: AsyncIterable<Example>;
  /** Seed of the order they are asked in; null keeps that of the rows. */
  readonly orderSeed: number | null;
  readonly maxExamples: number | undefined;
  /** How many a shard has, by its index. */
  readonly sizeOf: (shard: number) => number;
}

interface Spool {
  readonly descriptor: number;
  /** Where each line begins, and where the last one ends. */
  readonly offsets: readonly number[];
}

interface DraftPlace {
  /** Where they belong. */
  readonly path: string;
  /** Where they are. */
  readonly temporary: string;
  /** The first folder that was made for them. */
  readonly madeFolder: string | undefined;
}

interface WrittenDraft {
  readonly parts: readonly ShardPart[];
  readonly dataHash: string;
}

/**
 * The examples of a benchmark in the order they are asked in, written beside `examples.jsonl` and not in its place yet: first
 * what they are has to be known. However many there are, a part of them is in memory.
 */
export class ExampleDraft {
  readonly parts: readonly ShardPart[];
  readonly dataHash: string;
  readonly exampleCount: number;

  private constructor(
    private readonly place: DraftPlace,
    { parts, dataHash }: WrittenDraft,
  ) {
    this.parts = parts;
    this.dataHash = dataHash;
    this.exampleCount = parts.reduce((sum, part) => sum + part.exampleCount, 0);
  }

  static async write(path: string, order: DraftOrder): Promise<ExampleDraft> {
    const madeFolder = await makeFolderOf(path);
    const [spoolPath, temporary] = [temporaryName(path), temporaryName(path)];
    try {
      const spool = await spoolLines(spoolPath, order);
      try {
        const written = await writeInOrder(temporary, spool, order);
        return new ExampleDraft({ path, temporary, madeFolder }, written);
      } finally {
        closeSync(spool.descriptor);
      }
    } catch (error) {
      await Promise.all([rm(temporary, { force: true }), rm(spoolPath, { force: true })]);
      await removeMade(path, madeFolder);
      throw asStoreError(error, path);
    } finally {
      await rm(spoolPath, { force: true });
    }
  }

  /** What is written, before it is kept. */
  read(): Promise<FrozenExamples> {
    return FrozenExamples.open(this.place.temporary, wholeOf(this.parts));
  }

  /** Puts them in their place. Where they were planned before, what is there must be the same, or gone. */
  async keep({ isPlanned }: { readonly isPlanned: boolean }): Promise<void> {
    const { path, temporary } = this.place;
    const present = isPlanned ? await hashOfFrozen(path) : null;
    if (present === this.dataHash) return;
    if (present !== null) throw changed(path, 'changed');
    await rename(temporary, path);
  }

  /** Leaves nothing behind of what was not kept. */
  async discard(): Promise<void> {
    const { path, temporary, madeFolder } = this.place;
    await rm(temporary, { force: true });
    await removeMade(path, madeFolder);
  }
}

/** All shards as one. */
export function wholeOf(parts: readonly ShardPart[]): ShardPart {
  const sum = (count: (part: ShardPart) => number) => parts.reduce((total, part) => total + count(part), 0);
  return {
    exampleCount: sum(({ exampleCount }) => exampleCount),
    offset: 0,
    bytes: sum(({ bytes }) => bytes),
  };
}

/** Lines in the order of the rows: the order they are asked in may need the last one first. */
async function spoolLines(
  path: string,
  { examples, orderSeed, maxExamples = Infinity }: DraftOrder,
): Promise<Spool> {
  const descriptor = openSync(path, 'wx+');
  try {
    const offsets = [0];
    const file = new LineFile(descriptor);
    const most = orderSeed === null ? maxExamples : Infinity;
    for await (const example of examples) {
      file.add(JSON.stringify(example));
      offsets.push(file.byteCount);
      if (offsets.length > most) break;
      await file.whenWritten();
    }
    file.write();
    return { descriptor, offsets };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

async function writeInOrder(
  path: string,
  spool: Spool,
  { orderSeed, maxExamples, sizeOf }: DraftOrder,
): Promise<WrittenDraft> {
  const count = spool.offsets.length - 1;
  const order = orderSeed === null ? null : shuffledIndices(count, orderSeed);
  const chosenCount = Math.min(count, maxExamples ?? count);
  const digest = createHash('sha256');
  const parts: ShardPart[] = [];
  const handle = await open(path, 'wx');
  try {
    const file = new LineFile(handle.fd);
    for (let first = 0, shard = 0; first < chosenCount; shard++) {
      const size = Math.min(Math.max(1, sizeOf(shard)), chosenCount - first);
      const offset = file.byteCount;
      const part = createHash('sha256');
      file.digests = [digest, part];
      for (let index = first; index < first + size; index++) {
        copyLine(spool, order?.[index] ?? index, file);
        await file.whenWritten();
      }
      file.write();
      const partHex = part.digest('hex').slice(0, 32);
      parts.push({ exampleCount: size, offset, bytes: file.byteCount - offset, digest: partHex });
      first += size;
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  return { parts, dataHash: digest.digest('hex').slice(0, 32) };
}

function copyLine({ descriptor, offsets }: Spool, index: number, file: LineFile): void {
  const start = offsets[index] ?? 0;
  file.addBytes((offsets[index + 1] ?? start) - start, (into) => {
    readSync(descriptor, into, 0, into.length, start);
  });
}

/** Empty folders alone. */
async function removeMade(path: string, madeFolder: string | undefined): Promise<void> {
  if (madeFolder === undefined) return;
  for (let folder = dirname(path); folder.startsWith(madeFolder); folder = dirname(folder)) {
    try {
      await rmdir(folder);
    } catch {
      return;
    }
  }
}
