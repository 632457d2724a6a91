import { readFile } from 'node:fs/promises';
import { familyOf } from './process-family';

/** Each takes some of the system's memory, and programs need a few. */
const MOST_LOCKS = 10_000;
/** The fifth word is the process that holds the lock. */
const HOLDER = /^\d+: (?:-> )?\S+ +\S+ +\S+ +(\d+) /gm;

/** Whether the processes of a program hold more locks of parts of files than any needs. */
export async function hasTooManyLocks(pid: number): Promise<boolean> {
  const locks = await readFile('/proc/locks', 'utf8').catch(() => '');
  if (locks.length < MOST_LOCKS) return false;
  const family = new Set(familyOf(pid));
  let count = 0;
  for (const [, holder] of locks.matchAll(HOLDER)) if (family.has(Number(holder))) count += 1;
  return count > MOST_LOCKS;
}
