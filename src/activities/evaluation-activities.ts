import { withNews } from '../core/cell-news';
import type { FinishedCell } from '../training/record-scores';
import type { EvaluateSnapshotDependencies, EvaluateSnapshotInput } from '../training/evaluate-snapshot';
import { evaluateSnapshot } from '../training/evaluate-snapshot';
import { epochOf, withHeartbeat } from './activity-context';

export interface CellInput extends EvaluateSnapshotInput {
  readonly attempt: number;
}

export interface EvaluationDependencies extends EvaluateSnapshotDependencies {
  /** Anybody who reaches the server can start an evaluation; refuses what neither runs nor commands ask for. */
  readonly checkCell: (cell: CellInput) => void;
}

/** Sampling, grading and scoring, for workers with the role `sampling`, and `grading` where answers are run. */
export function createEvaluationActivities(dependencies: EvaluationDependencies, mayRunCode = false) {
  return {
    /** Scores one cell. A repeated attempt goes on from the cell's journal; a finished cell is returned as stored. */
    async evaluateCell(input: CellInput): Promise<FinishedCell> {
      dependencies.checkCell(input);
      return withHeartbeat(({ signal, attempt, progress }) =>
        evaluateSnapshot(dependencies, input, {
          ...{ signal, attempt },
          epoch: epochOf(input.attempt, attempt),
          onProgress: withNews(input, progress, dependencies.now),
          mayRunCode,
        }),
      );
    },
  };
}

export type EvaluationActivities = ReturnType<typeof createEvaluationActivities>;
