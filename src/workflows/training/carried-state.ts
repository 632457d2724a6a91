import type { TrainingState } from './training-state';

/** Of JSON: the server takes inputs of two megabytes, and a character has three bytes at most. */
const MOST_CARRIED = 600_000;
/** Beyond that nothing is left of what is kept for queries. */
const LEAST_SHARE = 1 / 256;

/**
 * What travels to a new execution. Of what is kept for queries alone, which the store has too, the oldest stays behind where all
 * would be more than the server takes: fifty changes of long schedules are.
 */
export function carriedState(state: TrainingState): TrainingState {
  let carried = state;
  for (let share = 1 / 2; JSON.stringify(carried).length > MOST_CARRIED; share /= 2) {
    carried = withNewest(state, share >= LEAST_SHARE ? share : 0);
    if (share < LEAST_SHARE) break;
  }
  return carried;
}

function withNewest(state: TrainingState, share: number): TrainingState {
  const newest = <Row>(rows: readonly Row[]): Row[] =>
    rows.slice(rows.length - Math.floor(rows.length * share));
  const { cells, recentScores, recentControls, recentEvents } = state;
  return {
    ...state,
    cells: newest(cells),
    recentScores: newest(recentScores),
    ...(recentControls && { recentControls: newest(recentControls) }),
    ...(recentEvents && { recentEvents: newest(recentEvents) }),
  };
}
