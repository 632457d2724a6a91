import type { CheckpointRow, ScoreRow } from '../core/run';

/** A checkpoint, and what its weights were measured at: each metric once, whichever schedules asked. */
export interface ScoredCheckpoint extends CheckpointRow {
  readonly scores: readonly ScoreRow[];
}

export function withScores(rows: readonly CheckpointRow[], scores: readonly ScoreRow[]): ScoredCheckpoint[] {
  const bySteps = new Map<number, Map<string, ScoreRow>>();
  for (const score of scores) {
    const known = bySteps.get(score.step) ?? new Map<string, ScoreRow>();
    const identity = JSON.stringify([score.evaluator, score.metric]);
    if (!known.has(identity)) known.set(identity, score);
    bySteps.set(score.step, known);
  }
  return rows.map((row) => ({ ...row, scores: [...(bySteps.get(row.step)?.values() ?? [])] }));
}
