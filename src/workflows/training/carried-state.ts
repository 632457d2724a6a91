import type { TrainingState } from './training-state';

/** Of JSON: the server takes inputs of two megabytes, and a character has three bytes at most. */
const MOST_CARRIED = 600_000;
/** Of what is kept for queries, the largest that fits is taken. */
const SHARES = [1, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256];

/**
 * What travels to a new execution. Of what is kept for queries alone, which the store has too, the oldest stays behind where all
 * would be more than the server takes: fifty changes of long schedules are.
 */
export function carriedState(state: TrainingState): TrainingState {
  const share = SHARES.find((each) => JSON.stringify(withNewest(state, each)).length <= MOST_CARRIED);
  return withNewest(state, share ?? 0);
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
