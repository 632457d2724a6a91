import type { ControlRow } from '../core/controls';
import { DEEPEST_JSON, isDeeperThan } from '../core/json-depth';
import type { CheckpointRow, MetricsRow, ScoreRow, TimingRow } from '../core/run';
import type { RunEvent } from '../core/timeline';
import type { SentRow } from '../core/training-plan';

/**
 * Whether rows of a run's journals have what readers show, sort and count by. Files can be copied, edited and damaged; a row that
 * has not is passed over, as a torn line is.
 */

/** No step has more digits than a name of a checkpoint may have. */
const STEP_END = 1e12;

export function isMetricsRow(row: MetricsRow): boolean {
  return isStep(row.step) && Object.values(row).every(isNumberOrNone);
}

export function isTimingRow(row: TimingRow): boolean {
  const isValue = (value: unknown) => isNumberOrNone(value) || typeof value === 'string';
  return isStep(row.step) && areTexts(row.at) && Object.values(row).every(isValue);
}

export function isScoreRow({ value, stderr, higherIsBetter, ...row }: ScoreRow): boolean {
  return (
    isStep(row.step) &&
    areTexts(row.schedule, row.evaluator, row.metric, row.key, row.at, row.error ?? '', row.remark ?? '') &&
    [value, stderr ?? null, row.n].every(isNumberOrNone) &&
    ['boolean', 'object', 'undefined'].includes(typeof higherIsBetter)
  );
}

/** Only those that `RUN@STEP` can name. */
export function isCheckpointRow({ step, name, state_path, sampler_path }: CheckpointRow): boolean {
  return isStep(step) && step >= 0 && step < STEP_END && areTexts(name, state_path ?? '', sampler_path ?? '');
}

export function isControlRow({ step, at, by, reason, control, from, to }: ControlRow): boolean {
  return isStep(step) && areTexts(at, by, reason, control) && !isDeeperThan([from, to], DEEPEST_JSON);
}

export function isEventRow({ step, at, kind, text }: RunEvent): boolean {
  return isStep(step) && areTexts(at, kind, text);
}

export function isSentRow({ step, incarnation, tokens, schedules }: SentRow): boolean {
  const areNumbers = [step, incarnation, tokens].every((value) => typeof value === 'number');
  return areNumbers && (schedules === undefined || areNames(schedules));
}

function areNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}

function isStep(value: unknown): boolean {
  return Number.isSafeInteger(value);
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === 'string');
}

function isNumberOrNone(value: unknown): boolean {
  return Number.isFinite(value) || value === null;
}
