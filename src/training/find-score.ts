import type { ScoreRow } from '../core/run';
import type { RunStore } from '../stores/run-store';
import { requireRun } from './run-folder';

export interface FindScoreInput {
  readonly run: string;
  readonly step: number;
  readonly evaluator: string;
  /** Of the score. */
  readonly key: string;
}

/** What an evaluator measured at a step, whoever asked for it; null where it has no such score. */
export async function findScore(
  store: RunStore,
  { run, step, evaluator, key }: FindScoreInput,
): Promise<ScoreRow | null> {
  await requireRun(store, run);
  const rows = await store.readScores(run);
  const isWanted = (row: ScoreRow) =>
    row.step === step && row.evaluator === evaluator && row.key === key && row.value !== null;
  return rows.findLast(isWanted) ?? null;
}
