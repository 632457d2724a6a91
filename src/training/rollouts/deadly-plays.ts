import type { ForeignWork } from '../../evaluation/foreign-work';
import { runForeign, StrayThrow } from '../../evaluation/foreign-work';
import type { RolloutFailureType } from './rollout-failure';
import { RolloutFailure } from './rollout-failure';

/** A rollout of a group, or, where `member` is null, the rewards that the group gives as a whole. */
export interface GuardedPlay {
  readonly member: number | null;
  /** How often its completions were drawn anew. */
  readonly redraw: number;
}

/** Why something is not played again. */
export interface Deadliness {
  readonly deaths: number;
  /** What the last process ended by; null where that is not known. */
  readonly cause: string | null;
}

/** Knows what processes died with when the group was played before. */
export interface PlayGuard {
  /** Whether the rollouts of the group are to be played one by one, so that it shows which one it is. */
  readonly isOneByOne: boolean;
  /** Before it is played; null where it is to be played. */
  enter(play: GuardedPlay): Promise<Deadliness | null>;
  /** What counts the ends of processes that are known to be its doing. */
  countsOf(play: GuardedPlay): NonNullable<ForeignWork['counts']>;
}

/** Throws for what is not to be played again. */
async function enterPlay(
  guard: PlayGuard | null | undefined,
  play: GuardedPlay,
  type: RolloutFailureType,
): Promise<void> {
  const deadliness = await guard?.enter(play);
  if (deadliness) throw diedWith(deadliness, 'it', type);
}

interface Played {
  /** As a person calls it. */
  readonly subject: string;
  readonly play: GuardedPlay;
  readonly type: RolloutFailureType;
}

/** Plays with code that is not ours. What that throws where nobody waits for it is a failure of the rollout. */
export async function playForeign<Result>(
  guard: PlayGuard | null | undefined,
  { subject, play, type }: Played,
  work: () => Promise<Result>,
): Promise<Result> {
  await enterPlay(guard, play, type);
  try {
    return await runForeign({ subject, ...(guard && { counts: guard.countsOf(play) }) }, work);
  } catch (error) {
    throw error instanceof StrayThrow ? new RolloutFailure(type, error) : error;
  }
}

/** What it is said to have failed with. */
export function diedWith(
  { deaths, cause }: Deadliness,
  what: string,
  type: RolloutFailureType,
): RolloutFailure {
  if (cause !== null) {
    const told = `the worker's process was ended ${deaths} times because of ${what}: ${cause}`;
    return new RolloutFailure(type, new Error(told));
  }
  const guess = new Error(
    `the worker's process died ${deaths} times in a row while ${what} alone was played. ` +
      'Look for loops without an end, too much memory, or what kills the process in its environment',
  );
  return new RolloutFailure(type, guess);
}
