import { CELL_OMISSIONS, isEndedWithItsRun } from '../core/run';
import type { EvaluationCell, ScoreRow } from '../core/run';

/** Scores of the store, and those that a running workflow has and the store was read too early to have. */
export function mergeScores(stored: readonly ScoreRow[], live: readonly ScoreRow[]): ScoreRow[] {
  const identity = (row: ScoreRow) => JSON.stringify([row.step, row.schedule, row.evaluator, row.metric]);
  const known = new Map([...live, ...stored].map((row) => [identity(row), row]));
  return [...known.values()].sort((left, right) => left.step - right.step);
}

/** Every cell that has scores is done; one whose row is an error has failed. */
export function cellsOfScores(scores: readonly ScoreRow[]): EvaluationCell[] {
  const cells = new Map<string, { row: ScoreRow; readonly schedules: Set<string> }>();
  for (const row of scores) {
    const identity = JSON.stringify([row.step, row.evaluator]);
    const cell = cells.get(identity) ?? { row, schedules: new Set<string>() };
    cell.row = row;
    cell.schedules.add(row.schedule);
    cells.set(identity, cell);
  }
  return [...cells.values()].map(({ row, schedules }) => ({
    ...{ step: row.step, evaluator: row.evaluator, schedules: [...schedules] },
    ...outcomeOf(row),
  }));
}

/** Why a cell has no result, and gets one where its run goes on. */
export const CUT_OFF = {
  status: 'cancelled',
  error: 'cut off: its run ended before it had a result',
} as const;

function outcomeOf(row: ScoreRow): Pick<EvaluationCell, 'status' | 'error'> {
  const { metric, error } = row;
  if (error === undefined) return { status: 'done' };
  if (isEndedWithItsRun(row)) return CUT_OFF;
  return { status: CELL_OMISSIONS.find((omission) => omission === metric) ?? 'failed', error };
}

/** The store knows final cells; the workflow also those under way. */
export function mergeCells(
  stored: readonly EvaluationCell[],
  live: readonly EvaluationCell[],
): EvaluationCell[] {
  const identity = (cell: EvaluationCell) => JSON.stringify([cell.step, cell.evaluator]);
  const known = new Map([...live, ...stored].map((cell) => [identity(cell), cell]));
  return [...known.values()].sort((left, right) => left.step - right.step);
}
