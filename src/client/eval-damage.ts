import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { DomainError } from '../core/errors';
import { parseJsonObject } from '../stores/json-lines';
import { readCellScores } from '../evaluation/stored-cell';
import type { BenchmarkFolders } from '../stores/eval-places';
import type { StoredResult } from '../stores/eval-store';
import { benchmarkFolder } from '../stores/eval-store';
import { openToRead } from '../stores/reading';

/** Longer files are looked at from their end: a list does not read gigabytes. */
const WHOLE_BYTES = 8 * 1024 * 1024;
const TAIL_BYTES = 64 * 1024;
const LINE_BREAK = 10;

/**
 * Benchmarks and evaluators of a folder whose results cannot be read, or whose trajectories are torn, by name. `results` has what of
 * `finished` could be read.
 */
export async function listDamaged(
  folder: string,
  { finished, cells }: Pick<BenchmarkFolders, 'finished' | 'cells'>,
  results: ReadonlyMap<string, StoredResult>,
): Promise<string[]> {
  const damaged: string[] = [];
  for (const name of finished) {
    const result = results.get(name);
    if (!result || (await areTrajectoriesTorn(folder, name, result.num_examples))) damaged.push(name);
  }
  for (const name of cells) {
    if ((await readCellScores(join(folder, name))) === null) damaged.push(name);
  }
  return damaged.sort();
}

/**
 * Whether the trajectories of a finished benchmark end in the middle of a line, or are fewer than its examples. Where
 * there are none, as other tools may leave it, nothing is damaged.
 */
export async function areTrajectoriesTorn(
  folder: string,
  benchmark: string,
  exampleCount: number,
): Promise<boolean> {
  try {
    const file = await openToRead(join(benchmarkFolder(folder, benchmark), 'trajectories.jsonl'));
    return file !== null && (await isTorn(file, exampleCount));
  } catch (error) {
    // A folder or a pipe in its place.
    if (error instanceof DomainError) return true;
    throw error;
  }
}

/** Closes the file. */
async function isTorn(file: FileHandle, exampleCount: number): Promise<boolean> {
  try {
    const { size } = await file.stat();
    const bytes = Buffer.alloc(size <= WHOLE_BYTES ? size : TAIL_BYTES);
    await file.read(bytes, 0, bytes.length, size - bytes.length);
    if (bytes.length === size && lineCountOf(bytes) < exampleCount) return true;
    return endsTorn(bytes);
  } finally {
    await file.close();
  }
}

function lineCountOf(bytes: Buffer): number {
  let count = bytes.length > 0 && bytes.at(-1) !== LINE_BREAK ? 1 : 0;
  for (let at = bytes.indexOf(LINE_BREAK); at >= 0; at = bytes.indexOf(LINE_BREAK, at + 1)) count++;
  return count;
}

/** Other tools may leave out the last line break. */
function endsTorn(bytes: Buffer): boolean {
  if (bytes.length === 0 || bytes.at(-1) === LINE_BREAK) return false;
  const last = bytes.subarray(bytes.lastIndexOf(LINE_BREAK) + 1).toString('utf8');
  return parseJsonObject(last) === null;
}
