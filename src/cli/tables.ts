import Table from 'cli-table3';
import type { ScoreRow } from '../core/run';
import { confidenceInterval } from './tables-interval';
import { escapeControls } from './escape-controls';
import type { Output } from './output';

const NO_BORDERS = {
  ...{
    top: '',
    'top-mid': '',
    'top-left': '',
    'top-right': '',
    bottom: '',
    'bottom-mid': '',
    'bottom-left': '',
  },
  ...{
    'bottom-right': '',
    left: '',
    'left-mid': '',
    mid: '',
    'mid-mid': '',
    right: '',
    'right-mid': '',
    middle: '  ',
  },
};

/** Columns under a heading. Cells are escaped, so that no name can steer the terminal. */
export function printTable(
  output: Output,
  heading: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const table = new Table({
    head: heading.map((title) => output.colors.bold(title)),
    chars: NO_BORDERS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  });
  table.push(...rows.map((row) => row.map(escapeControls)));
  for (const line of table.toString().split('\n')) output.line(line.trimEnd());
}

/** First against last score of every metric: what training did. */
export function printScoreSummary(output: Output, scores: readonly ScoreRow[]): void {
  const groups = new Map<string, ScoreRow[]>();
  for (const row of scores) {
    const name = `${row.evaluator}\u0000${row.metric}`;
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  const rows = [...groups.values()].map((group) => {
    const [base] = group;
    const final = group.at(-1);
    if (!base || !final) return [];
    return [
      base.evaluator,
      base.metric,
      scoreText(base),
      scoreText(final),
      String(final.n),
      atSteps(base, final),
    ];
  });
  if (rows.length === 0) return;
  printTable(output, ['evaluator', 'metric', 'base (95 %)', 'final (95 %)', 'n', 'steps'], rows);
}

function atSteps(base: ScoreRow, final: ScoreRow): string {
  return base.step === final.step ? String(base.step) : `${base.step} → ${final.step}`;
}

/** `0.815 [0.755, 0.863]`, `failed: …`, or `–` for a value that does not exist. */
export function scoreText(row: ScoreRow): string {
  if (row.error !== undefined) return `failed: ${row.error}`;
  if (row.value === null) return '–';
  const interval = confidenceInterval(row);
  const value = formatNumber(row.value);
  return interval ? `${value} [${formatNumber(interval[0])}, ${formatNumber(interval[1])}]` : value;
}

/** Four significant digits, without a tail of zeros. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const isPlain = value === 0 || (Math.abs(value) >= 5e-4 && Math.abs(value) < 1e6);
  return isPlain ? String(Number(value.toFixed(Math.abs(value) < 10 ? 4 : 2))) : value.toExponential(3);
}
