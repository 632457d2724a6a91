import { createHash } from 'node:crypto';
import { closeSync, readSync } from 'node:fs';
import { DomainError } from '../../core/errors';
import { parseJsonObject } from '../../stores/json-lines';
import { LineLimit, LONGEST_TEXT_BYTES } from '../../stores/line-limit';
import { openToRead, openToReadSync } from '../../stores/reading';
import type { Example } from '../example';
import type { ShardPart } from './benchmark-plan';
import { lineSlices } from './line-slices';

/**
 * The examples of one shard. They are read from their file as they are asked for, some at a time: there may be many, and
 * each is needed once.
 */
export class FrozenExamples implements Iterable<Example> {
  private constructor(
    private readonly path: string,
    private readonly part: ShardPart,
  ) {}

  /** Refused where they are not those that were planned. */
  static async open(path: string, part: ShardPart): Promise<FrozenExamples> {
    const found = await hashOfPart(path, part);
    if (found === null) throw changed(path, 'gone');
    if (part.digest !== undefined && found !== part.digest) throw changed(path, 'changed');
    return new FrozenExamples(path, part);
  }

  get length(): number {
    return this.part.exampleCount;
  }

  /** Throws where the file was changed since. */
  *[Symbol.iterator](): Generator<Example> {
    const readAt = (into: Buffer, position: number) => readOnce(this.path, into, position);
    let count = 0;
    const source = { path: this.path, mostBytes: LONGEST_TEXT_BYTES, readAt };
    for (const { bytes, start, end } of lineSlices(source, this.part)) {
      const example = parseJsonObject<Example>(bytes.toString('utf8', start, end));
      if (!example) continue;
      count += 1;
      yield example;
    }
    if (count !== this.length) throw changed(this.path, 'changed');
  }
}

/** Of a file of examples, as `dataHash` says it; null where there is none. */
export function hashOfFrozen(path: string): Promise<string | null> {
  return hashOf(path, { start: 0 });
}

/** No stream reads nothing. */
function hashOfPart(path: string, { offset, bytes }: ShardPart): Promise<string | null> {
  return hashOf(path, bytes === 0 ? null : { start: offset, end: offset + bytes - 1 });
}

async function hashOf(
  path: string,
  range: { readonly start: number; readonly end?: number } | null,
): Promise<string | null> {
  const file = await openToRead(path);
  if (file === null) return null;
  const digest = createHash('sha256');
  const limit = new LineLimit(path, LONGEST_TEXT_BYTES);
  if (range === null) await file.close();
  else
    for await (const chunk of file.createReadStream(range)) {
      if (!Buffer.isBuffer(chunk)) continue;
      limit.take(chunk);
      digest.update(chunk);
    }
  return digest.digest('hex').slice(0, 32);
}

/** Somebody changed a file that answers were already given to. */
export function changed(path: string, how: 'gone' | 'changed'): DomainError {
  const what = how === 'gone' ? 'is gone' : 'is not what was planned: its hash is another';
  return new DomainError(
    'store-conflict',
    `${path} ${what}. ${how === 'gone' ? 'Give' : 'Put it back, or move it away and give'} the same command again: it is then written anew from the data.`,
  );
}

/** The file is not kept open: whoever stops reading in the middle need not say so. */
function readOnce(path: string, into: Buffer, position: number): number {
  const descriptor = openToReadSync(path);
  if (descriptor === null) throw changed(path, 'gone');
  try {
    return readSync(descriptor, into, 0, into.length, position);
  } finally {
    closeSync(descriptor);
  }
}
