import { writeSync } from 'node:fs';
import { readLineGroups } from './line-groups';

interface CopiedFile {
  readonly descriptor: number;
  /** Under which it is told. */
  readonly path: string;
}

/** Appends lines of an open file to another, as they stand there, and pauses after every few of them. */
export function* copyLines(
  { descriptor, path }: CopiedFile,
  to: number,
  isKept: (line: string) => boolean,
): Generator<void> {
  for (const lines of readLineGroups(descriptor, path)) {
    const kept = lines.filter(isKept).map((line) => `${line}\n`);
    writeAll(to, Buffer.from(kept.join('')));
    yield;
  }
}

function writeAll(descriptor: number, bytes: Buffer): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(descriptor, bytes, written);
}
