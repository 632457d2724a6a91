import type { Mappings } from './mappings';

/** So many of the largest mappings of shared memory make up the limit. */
const SHARED_OBJECTS = 64;
/** How the system names memory that is shared without a file, whose inode is the word before. */
const SHARED_OBJECT = /^\S+ ...s \S+ \S+ (\d+) +\/dev\/zero \(deleted\)$/gm;

/** Of one mapping of memory shared without a file; the filter of system calls refuses a larger one. */
export function largestShared(memoryBytes: number): number {
  return Math.floor(memoryBytes / SHARED_OBJECTS);
}

/**
 * The most that memory which a program's processes share without a file can take. Each piece counts as the largest: what is still mapped of it, and
 * by whom, does not tell how much of it was filled. Infinite where a program has more mappings than can be looked at.
 */
export function sharedObjectBytes(mappings: readonly Mappings[] | null, memoryBytes: number): number {
  if (mappings === null) return Infinity;
  const objects = new Set<string>();
  for (const { text } of mappings) {
    for (const [, inode = ''] of text.matchAll(SHARED_OBJECT)) objects.add(inode);
  }
  return objects.size * largestShared(memoryBytes);
}
