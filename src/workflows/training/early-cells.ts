import { patched } from '@temporalio/workflow';
import type { ScoreRow } from '../../core/run';
import { isSameEvaluation } from '../../core/same-evaluation';
import type { EvaluationFinished } from '../contracts';
import type { PendingEvaluation, TrainingState } from './training-state';

/** Cells of an evaluation that are written while others of it go on: gates wait for all of their schedule. */

/** The evaluators of it that have no result yet. */
export function remainingOf({ evaluators, recorded = [] }: PendingEvaluation): string[] {
  return evaluators.filter((name) => !recorded.includes(name));
}

/** Evaluations due or under way, each of one evaluator on one step, also those that somebody asked for. */
export function openCellCount({
  pending,
  requests = [],
}: Pick<TrainingState, 'pending' | 'requests'>): number {
  const evaluators = [...pending.map(remainingOf), ...requests.map((request) => request.evaluators)];
  return evaluators.flat().length;
}

/** What is to be written of cells that were told early; null where all of it is known, or the evaluation is over. */
export function earlyOf(
  { pending }: TrainingState,
  { cells, ...identity }: EvaluationFinished,
): PendingEvaluation | null {
  const whole = pending.find((one) => isSameEvaluation(one, identity));
  if (!whole) return null;
  const remaining = remainingOf(whole);
  const evaluators = cells.map(({ evaluator }) => evaluator).filter((name) => remaining.includes(name));
  // A worker of an earlier release may have passed the same news over.
  if (evaluators.length === 0 || !patched('cells-are-written-early')) return null;
  const schedules = whole.schedules.filter((name) => !whole.told?.includes(name));
  return { ...whole, schedules, evaluators, skipped: [], isCheckpoint: true };
}

export function noteRecorded(state: TrainingState, early: PendingEvaluation): void {
  state.pending = state.pending.map((pending) =>
    isSameEvaluation(pending, early)
      ? { ...pending, recorded: [...(pending.recorded ?? []), ...early.evaluators] }
      : pending,
  );
}

/** Without those that were written, remembered and told of before. */
export function newRows(rows: readonly ScoreRow[], settled: readonly PendingEvaluation[]): ScoreRow[] {
  const isKnown = ({ step, schedule, evaluator }: ScoreRow) =>
    settled.some(
      (one) =>
        one.step === step && one.schedules.includes(schedule) && one.recorded?.includes(evaluator) === true,
    );
  return rows.filter((row) => !isKnown(row));
}
