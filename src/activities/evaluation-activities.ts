import type { FinishedCell } from '../training/record-scores';
import type { EvaluateSnapshotDependencies, EvaluateSnapshotInput } from '../training/evaluate-snapshot';
import { evaluateSnapshot } from '../training/evaluate-snapshot';
import { withHeartbeat } from './activity-context';

/** Sampling, grading and scoring, for workers with the role `sampling`. */
export function createEvaluationActivities(dependencies: EvaluateSnapshotDependencies) {
  return {
    /** Scores one cell. A repeated attempt goes on from the cell's journal; a finished cell is returned as stored. */
    async evaluateCell(input: EvaluateSnapshotInput): Promise<FinishedCell> {
      return withHeartbeat((run) => evaluateSnapshot(dependencies, input, { ...run, onProgress: run.progress }));
    },
  };
}

export type EvaluationActivities = ReturnType<typeof createEvaluationActivities>;
