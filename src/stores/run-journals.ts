import type { ControlRow } from '../core/controls';
import type { CheckpointRow, MetricsRow, ScoreRow, TimingRow } from '../core/run';
import type { RunEvent } from '../core/timeline';
import type { SentRow } from '../core/training-plan';
import type { RowKey } from './row-memory';

/** Journals of a run: `<name>.jsonl`. */
export interface RunJournals {
  readonly metrics: MetricsRow;
  readonly timing: TimingRow;
  readonly scores: ScoreRow;
  readonly checkpoints: CheckpointRow;
  readonly controls: ControlRow;
  readonly events: RunEvent;
  readonly sent: SentRow;
}

/** What makes two rows of a journal the same one. */
export const JOURNAL_KEYS: { readonly [Name in keyof RunJournals]: (row: RunJournals[Name]) => RowKey } = {
  metrics: ({ step }) => step,
  timing: ({ step }) => step,
  scores: ({ step, schedule, evaluator, metric }) => JSON.stringify([step, schedule, evaluator, metric]),
  checkpoints: ({ name, lineage }) => JSON.stringify([name, lineage]),
  controls: ({ at, by, control, step }) => JSON.stringify([at, by, control, step]),
  events: ({ at, kind, step, text }) => JSON.stringify([at, kind, step, text]),
  sent: ({ incarnation, step, tokens }) => JSON.stringify([incarnation, step, tokens]),
};
