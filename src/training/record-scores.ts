import type { CellScore, ScoreRow } from '../core/run';
import type { EvaluationSchedule } from '../core/schedules/evaluation-schedule';
import type { RunStore } from '../stores/run-store';
import { requireRun } from './run-folder';

export interface FinishedCell {
  readonly evaluator: string;
  readonly scores: readonly CellScore[];
  readonly at: string;
  readonly error?: string;
}

export interface RecordScoresInput {
  readonly run: string;
  /** Rises with every write; the first part of the writer's lease. */
  readonly write: number;
  readonly finished: readonly { readonly step: number; readonly cells: readonly FinishedCell[] }[];
  readonly schedules: readonly EvaluationSchedule[];
  readonly evaluations: readonly EvaluationToSettle[];
}

export interface EvaluationToSettle {
  readonly step: number;
  readonly schedules: readonly string[];
  readonly samplerPath: string;
  readonly isCheckpoint: boolean;
}

/** Writes scores, one row for each schedule that asked. Rows that are there already stay: a cell is scored once. */
export async function recordScores(
  store: RunStore,
  input: RecordScoresInput,
  epoch: number,
): Promise<readonly ScoreRow[]> {
  await requireRun(store, input.run);
  const journal = await store.openJournal(input.run, 'scores', { epoch });
  try {
    const rows = input.finished.flatMap(({ step, cells }) => rowsOf(input, step, cells));
    for (const row of rows) journal.append(row);
    return rows;
  } finally {
    await journal.close();
  }
}

function rowsOf(input: RecordScoresInput, step: number, cells: readonly FinishedCell[]): ScoreRow[] {
  const asked = input.evaluations.find((evaluation) => evaluation.step === step)?.schedules ?? [];
  const schedules = input.schedules.filter(({ name }) => asked.includes(name));
  return schedules.flatMap((schedule) =>
    cells
      .filter(({ evaluator }) => schedule.evaluators.includes(evaluator))
      .flatMap((cell) =>
        cellRows({ step, schedule: schedule.name, evaluator: cell.evaluator, at: cell.at }, cell),
      ),
  );
}

function cellRows(
  base: Pick<ScoreRow, 'step' | 'schedule' | 'evaluator' | 'at'>,
  cell: FinishedCell,
): ScoreRow[] {
  if (cell.error !== undefined) {
    const key = `${cell.evaluator}/error`;
    return [
      {
        ...base,
        metric: 'error',
        key,
        value: null,
        stderr: null,
        n: 0,
        higherIsBetter: null,
        error: cell.error,
      },
    ];
  }
  return cell.scores.map((score) => ({ ...base, ...score }));
}
