import { setTimeout as delay } from 'node:timers/promises';
import { inPhase } from './phase';
import { findLockHolder } from './pid-lock';
import type { Progress } from './progress';
import { findStack, stackPlaces } from './stack-record';
import type { StackRecord } from './stack-record';
import { shownByHolder } from './wait-for-lock';

export interface StartingOptions {
  readonly progress: Progress;
  /** How long the start itself may take; what goes before it, such as building a program, is not counted. */
  readonly limitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** What the lock of a stack says while what it needs is still being fetched. */
export const PREPARING = { phase: 'preparing' } as const;

const POLL_MS = 100;
const START_LIMIT_MS = 120_000;
/** A `dev` that was started in the same moment has not taken its lock yet. */
export const START_GRACE_MS = 2000;
/** For what cannot do without it: npx alone takes seconds before it starts `dev`. */
export const LONG_START_GRACE_MS = 15_000;

/**
 * The stack of the data folder, also one that somebody else is just starting: a living holder of the lock is waited
 * for. Null when there is none, or none in time; nothing is started.
 */
export async function waitForStartingStack(
  dataFolder: string,
  options: StartingOptions & { readonly graceMs?: number },
): Promise<StackRecord | null> {
  const graceEnd = performance.now() + (options.graceMs ?? START_GRACE_MS);
  while (findStack(dataFolder) === null && !hasSupervisor(dataFolder) && performance.now() < graceEnd) {
    options.signal?.throwIfAborted();
    await delay(POLL_MS);
  }
  if (findStack(dataFolder) === null && hasSupervisor(dataFolder))
    await waitForSupervisor(dataFolder, options);
  return findStack(dataFolder);
}

/** Waits for the stack whose lock somebody holds, until it is ready or gone; false when it was neither at the limit. */
export function waitForSupervisor(dataFolder: string, options: StartingOptions): Promise<boolean> {
  const name = 'Waiting for the stack that is starting';
  return waitWhileStarting(dataFolder, { ...options, name, isOver: () => !hasSupervisor(dataFolder) });
}

/** Waits until the stack is ready or cannot become it; false when it was still starting at the limit. */
export async function waitWhileStarting(
  dataFolder: string,
  options: StartingOptions & { readonly name: string; readonly isOver: () => boolean },
): Promise<boolean> {
  const { lock } = stackPlaces(dataFolder);
  const { limitMs = START_LIMIT_MS, isOver, ...phase } = options;
  return inPhase({ ...phase, describe: () => shownByHolder(lock) }, async (signal) => {
    let countedFrom = performance.now();
    while (findStack(dataFolder) === null && !isOver()) {
      signal.throwIfAborted();
      if (findLockHolder(lock)?.notes['phase'] === PREPARING.phase) countedFrom = performance.now();
      if (performance.now() - countedFrom > limitMs) return false;
      await delay(POLL_MS);
    }
    return true;
  });
}

export function hasSupervisor(dataFolder: string): boolean {
  return findLockHolder(stackPlaces(dataFolder).lock) !== null;
}
