import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';

const TAIL_BYTES = 64_000;

/** The end of what a program said, for a message; call stacks are left out. */
export function lastLines(text: string, count = 5): string {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s+at /.test(line))
    .slice(-count)
    .join('\n');
}

export function fileSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** How a log ends, of what was written since it had `from` bytes: a sentence also where there is nothing. */
export function describeLog(file: string, from = 0): string {
  const lines = lastLines(readTail(file, from));
  return lines === '' ? `It wrote nothing to its log, ${file}.` : `Its log, ${file}, ends with:\n${lines}`;
}

/** The end of a log, of what was written since it had `from` bytes. */
export function readTail(file: string, from: number): string {
  try {
    const log = openSync(file, 'r');
    try {
      const { size } = fstatSync(log);
      // A log that is shorter than it was has been set aside and begun anew.
      const begin = Math.max(size < from ? 0 : from, size - TAIL_BYTES);
      const bytes = Buffer.alloc(size - begin);
      return bytes.toString('utf8', 0, readSync(log, bytes, 0, bytes.length, begin));
    } finally {
      closeSync(log);
    }
  } catch {
    return '';
  }
}
