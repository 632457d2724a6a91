/** What the `--json` of the run commands says. */
import type { RunReport } from '../../client/run-report';
import type { Promotion } from '../../core/controls/promotion';
import type { CheckpointRow, MetricsRow, ScoreRow } from '../../core/run';
import { confidenceInterval } from '../tables-interval';

export function scoresDocument(report: RunReport, scores: readonly ScoreRow[]) {
  const { run, status, step, totalSteps } = report;
  return { run, status, step, totalSteps, scores: scores.map(scoreDocument) };
}

function scoreDocument(row: ScoreRow) {
  const { schedule, evaluator, metric, step, value, stderr, n, higherIsBetter, at, key, error } = row;
  return {
    ...{ schedule, evaluator, metric, step, value, stderr },
    ci: confidenceInterval(row),
    ...{ n, higherIsBetter, at, key },
    ...(error !== undefined && { error }),
  };
}

/** How a run stands, with its scores: what `train --json` and `runs watch --json` end with. */
export function statusDocument(report: RunReport, scores: readonly ScoreRow[]) {
  return { ...factsOf(report), scores: scores.map(scoreDocument) };
}

export interface RunDetails {
  readonly report: RunReport;
  readonly record: Readonly<Record<string, unknown>> | null;
  readonly checkpoints: readonly CheckpointRow[];
  /** Null where the run left none. */
  readonly folder: string | null;
  /** The checkpoint somebody promoted. */
  readonly best: Promotion | null;
  /** What of the run's rows cannot be read, in a sentence a file. */
  readonly damaged: readonly string[];
}

export function runDocument({ report, record, checkpoints, folder, best, damaged }: RunDetails) {
  const { config = null, ...rest } = record ?? {};
  return {
    ...factsOf(report),
    folder,
    checkpointCount: checkpoints.length,
    latestCheckpoint: checkpoints.at(-1) ?? null,
    ...{ best, damaged },
    config,
    ...pick(rest, ['renderer', 'data', 'provenance']),
  };
}

function factsOf(report: RunReport): Omit<RunReport, 'refusal'> {
  const facts = { ...report };
  Reflect.deleteProperty(facts, 'refusal');
  return facts;
}

function pick(from: Readonly<Record<string, unknown>>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.flatMap((key) => (key in from ? [[key, from[key]]] : [])));
}

/**
 * Puts the scores of a step into its row under the field's names; step 0 gets a row of its own. An evaluator may name a metric as it
 * likes: one whose name is taken by the training or by another evaluator has its evaluator's behind it.
 */
export function withScores(metrics: readonly MetricsRow[], scores: readonly ScoreRow[]): MetricsRow[] {
  const rows = new Map(metrics.map((row) => [row.step, row]));
  const evaluators = new Map<string, string>();
  for (const { step, key, value, error, evaluator } of scores) {
    if (error !== undefined) continue;
    const row = rows.get(step) ?? { step };
    const place = `${step}/${key}`;
    const isFree = !(key in row) || evaluators.get(place) === evaluator;
    if (isFree) evaluators.set(place, evaluator);
    rows.set(step, { ...row, [isFree ? key : `${key} (${evaluator})`]: value });
  }
  return [...rows.values()].sort((left, right) => left.step - right.step);
}
