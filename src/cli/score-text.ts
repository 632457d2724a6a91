import type { CellOmission, ScoreRow } from '../core/run';
import { CELL_OMISSIONS, isEndedWithItsRun } from '../core/run';
import { escapeControls } from './escape-controls';
import { formatNumber } from './number-format';
import { confidenceInterval } from './tables-interval';

const ERROR_COLUMNS = 160;
/** Where something was thrown stands at the end. */
const END_COLUMNS = 80;

/** `0.815 [0.755, 0.863]`, `failed`, `skipped`, `cancelled`, or `–` for a value that does not exist. */
export function scoreText(row: ScoreRow): string {
  if (row.error !== undefined) return omissionOf(row) ?? 'failed';
  if (row.value === null) return '–';
  const interval = confidenceInterval(row);
  const value = formatNumber(row.value);
  return interval ? `${value} [${formatNumber(interval[0])}, ${formatNumber(interval[1])}]` : value;
}

/** Null where the evaluator ran, or failed. */
export function omissionOf(row: ScoreRow): CellOmission | null {
  if (row.error === undefined) return null;
  return isEndedWithItsRun(row)
    ? 'cancelled'
    : (CELL_OMISSIONS.find((known) => known === row.metric) ?? null);
}

/** What went wrong with an evaluator, on one line that no text in it can leave. */
export function errorLine({ error = '' }: ScoreRow): string {
  const [first = '', ...others] = error.trim().split(/\r?\n/);
  const text = escapeControls(first);
  if (text.length > ERROR_COLUMNS)
    return `${text.slice(0, ERROR_COLUMNS - END_COLUMNS - 1)}…${text.slice(-END_COLUMNS)}`;
  return others.length > 0 ? `${text} …` : text;
}

/** `failed: no luck`, or why it was left out, in the words that its row has. */
export function outcomeLine(row: ScoreRow): string {
  if (isEndedWithItsRun(row)) return 'cancelled with its run';
  const omission = omissionOf(row);
  const text = errorLine(row);
  if (omission === null) return `failed: ${text}`;
  return text.startsWith(omission) ? text : `${omission}: ${text}`;
}
