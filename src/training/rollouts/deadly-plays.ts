import type { RolloutFailureType } from './rollout-failure';
import { RolloutFailure } from './rollout-failure';

/** A rollout of a group, or, where `member` is null, the rewards that the group gives as a whole. */
export interface GuardedPlay {
  readonly member: number | null;
  /** How often its completions were drawn anew. */
  readonly redraw: number;
}

/** Knows what processes died with when the group was played before. */
export interface PlayGuard {
  /** Whether the rollouts of the group are to be played one by one, so that it shows which one it is. */
  readonly isOneByOne: boolean;
  /** Before it is played: how often processes died with it, where that is too often; 0 where it is to be played. */
  enter(play: GuardedPlay): Promise<number>;
}

/** Throws for what is not to be played again. */
export async function enterPlay(
  guard: PlayGuard | null | undefined,
  play: GuardedPlay,
  type: RolloutFailureType,
): Promise<void> {
  const deaths = (await guard?.enter(play)) ?? 0;
  if (deaths > 0) throw diedWith(deaths, 'it', type);
}

/** What it is said to have failed with. */
export function diedWith(deaths: number, what: string, type: RolloutFailureType): RolloutFailure {
  const cause = new Error(
    `the worker's process died ${deaths} times in a row while ${what} alone was played. ` +
      'Look for loops without an end, uncaught errors in timers, process.exit, or too much memory in its environment',
  );
  return new RolloutFailure(type, cause);
}
