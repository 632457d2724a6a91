import { readFile } from 'node:fs/promises';
import { familyOf, placeOf } from './process-family';

/** So many of the largest mappings of shared memory make up the limit. */
const SHARED_OBJECTS = 64;
/** How the system names memory that is shared without a file, whose inode is the word before. */
const SHARED_OBJECT = /^\S+ ...s \S+ \S+ (\d+) +\/dev\/zero \(deleted\)$/gm;
/** Text of `/proc/<pid>/maps` that is looked at; a line has about a hundred characters, and each mapping takes that of the system's memory. */
const MOST_CHARACTERS = 8 * 1024 * 1024;

/** Of one mapping of memory shared without a file; the filter of system calls refuses a larger one. */
export function largestShared(memoryBytes: number): number {
  return Math.floor(memoryBytes / SHARED_OBJECTS);
}

/**
 * The most that memory which a program's processes share without a file can take. Each piece counts as the largest: what is still mapped of it, and
 * by whom, does not tell how much of it was filled. Infinite where a program has more mappings than can be looked at.
 */
export async function sharedObjectBytes(pid: number, memoryBytes: number): Promise<number> {
  const objects = new Set<string>();
  let characters = 0;
  for (const each of familyOf(pid)) {
    const maps = await readFile(`${placeOf(each)}/maps`, 'utf8').catch(() => '');
    characters += maps.length;
    if (characters > MOST_CHARACTERS) return Infinity;
    for (const [, inode = ''] of maps.matchAll(SHARED_OBJECT)) objects.add(inode);
  }
  return objects.size * largestShared(memoryBytes);
}
