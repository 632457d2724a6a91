import type { ScoreRow } from '../core/run';
import { escapeControls } from './escape-controls';
import { formatNumber } from './number-format';
import { confidenceInterval } from './tables-interval';

const ERROR_COLUMNS = 160;

/** `0.815 [0.755, 0.863]`, `failed`, or `–` for a value that does not exist. */
export function scoreText(row: ScoreRow): string {
  if (row.error !== undefined) return 'failed';
  if (row.value === null) return '–';
  const interval = confidenceInterval(row);
  const value = formatNumber(row.value);
  return interval ? `${value} [${formatNumber(interval[0])}, ${formatNumber(interval[1])}]` : value;
}

/** What went wrong with an evaluator, on one line that no text in it can leave. */
export function errorLine({ error = '' }: ScoreRow): string {
  const [first = '', ...others] = error.trim().split(/\r?\n/);
  const text = escapeControls(first);
  if (text.length > ERROR_COLUMNS) return `${text.slice(0, ERROR_COLUMNS - 1)}…`;
  return others.length > 0 ? `${text} …` : text;
}
