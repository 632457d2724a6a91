import { CELL_OMISSIONS } from '../core/run';
import type { EvaluationCell, ScoreRow } from '../core/run';

/** Scores of the store, and those that a running workflow has and the store was read too early to have. */
export function mergeScores(stored: readonly ScoreRow[], live: readonly ScoreRow[]): ScoreRow[] {
  const identity = (row: ScoreRow) => JSON.stringify([row.step, row.schedule, row.evaluator, row.metric]);
  const known = new Map([...live, ...stored].map((row) => [identity(row), row]));
  return [...known.values()].sort((left, right) => left.step - right.step);
}

/** Every cell that has scores is done; one whose row is an error has failed. */
export function cellsOfScores(scores: readonly ScoreRow[]): EvaluationCell[] {
  const cells = new Map<string, EvaluationCell>();
  for (const { step, evaluator, schedule, metric, error } of scores) {
    const identity = JSON.stringify([step, evaluator]);
    const schedules = new Set([...(cells.get(identity)?.schedules ?? []), schedule]);
    const cell = { step, evaluator, schedules: [...schedules] };
    cells.set(
      identity,
      error === undefined ? { ...cell, status: 'done' } : { ...cell, status: failureOf(metric), error },
    );
  }
  return [...cells.values()];
}

function failureOf(metric: string): EvaluationCell['status'] {
  return CELL_OMISSIONS.find((omission) => omission === metric) ?? 'failed';
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
