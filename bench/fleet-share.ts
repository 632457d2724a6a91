/** A stretch of time in which the steps of all runs are counted. */
interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface FleetShare {
  /** Steps done over steps possible, of all runs together. */
  readonly share: number;
  readonly shareOfSlowest: number;
  /** Runs without a single row. */
  readonly withoutRow: number;
}

/** `runs` has the moments at which each run's steps were done, in their order. */
export function shareOf(
  runs: readonly (readonly number[])[],
  { fromMs, toMs }: Window,
  stepMs: number,
): FleetShare {
  const possible = (toMs - fromMs) / stepMs;
  const shares = runs.map(
    (moments) => (doneAt(moments, toMs, stepMs) - doneAt(moments, fromMs, stepMs)) / possible,
  );
  return {
    share: shares.reduce((sum, share) => sum + share, 0) / shares.length,
    shareOfSlowest: Math.min(...shares),
    withoutRow: runs.filter(({ length }) => length === 0).length,
  };
}

/** Steps done, with the part of the one under way: the window begins and ends in the middle of steps. */
function doneAt(moments: readonly number[], at: number, stepMs: number): number {
  const done = moments.filter((moment) => moment <= at);
  const last = done.at(-1);
  return last === undefined ? 0 : done.length + Math.min(1, (at - last) / stepMs);
}
