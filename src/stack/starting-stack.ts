import { setTimeout as delay } from 'node:timers/promises';
import { findLockHolder } from './pid-lock';
import { findStack, stackPlaces } from './stack-record';
import type { StackRecord } from './stack-record';

const POLL_MS = 100;
/** How long a stack that somebody else starts may take. */
const WAIT_LIMIT_MS = 60_000;
/** A `dev` that was started in the same moment has not taken its lock yet. */
const LOCK_GRACE_MS = 2000;

/**
 * The stack of the data folder, also one that somebody else is just starting: a living holder of the lock is waited
 * for. Null when there is none; nothing is started.
 */
export async function waitForStartingStack(
  dataFolder: string,
  onProgress: (line: string) => void,
  graceMs = LOCK_GRACE_MS,
): Promise<StackRecord | null> {
  const until = async (limitMs: number, isReached: () => boolean): Promise<void> => {
    const deadline = performance.now() + limitMs;
    while (!isReached() && performance.now() < deadline) await delay(POLL_MS);
  };
  await until(graceMs, () => findStack(dataFolder) !== null || hasSupervisor(dataFolder));
  if (findStack(dataFolder) === null && hasSupervisor(dataFolder)) {
    onProgress('Waiting for the stack that is starting…');
    await until(WAIT_LIMIT_MS, () => findStack(dataFolder) !== null || !hasSupervisor(dataFolder));
  }
  return findStack(dataFolder);
}

export function hasSupervisor(dataFolder: string): boolean {
  return findLockHolder(stackPlaces(dataFolder).lock) !== null;
}
