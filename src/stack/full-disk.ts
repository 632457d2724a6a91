import { statfsSync } from 'node:fs';

/** With less, a database that writes a log beside itself, or a checkpoint, finds no room. */
const FULL_BYTES = 8e6;

/** What programs say of writes for which there was no room, on the disk or within a quota. */
const NO_ROOM = /disk is full|\b(?:ENOSPC|EDQUOT)\b|no space left|disk quota exceeded/i;

/**
 * That the disk of a folder is full, in words with what is free; null where it is not, or nobody knows. `complaint` is what a
 * program said that writes there: a quota of one's own may be used up on a disk with room.
 */
export function describeFullDisk(folder: string, complaint = ''): string | null {
  const freeBytes = freeBytesOf(folder);
  const isFull = freeBytes !== null && freeBytes < FULL_BYTES;
  if (!isFull && !NO_ROOM.test(complaint)) return null;
  const free = freeBytes === null ? '' : ` (${(freeBytes / 1e6).toFixed(1)} MB free)`;
  return isFull
    ? `the disk of ${folder} is full${free}`
    : `the disk of ${folder}${free} took no more: it was full, or a quota is used up`;
}

function freeBytesOf(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}
