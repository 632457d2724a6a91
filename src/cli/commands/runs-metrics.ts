import type { RunHandle } from '../../client/run-handle';
import { DomainError } from '../../core/errors';
import { namePattern } from '../../core/metrics/name-pattern';
import type { MetricsRow, ScoreRow } from '../../core/run';
import type { StepSelection } from '../../stores/step-rows';
import { EXIT } from '../exit-codes';
import { printMetrics } from '../metric-table';
import { escapeControls } from '../escape-controls';
import type { Output } from '../output';
import { withScores } from './runs-documents';

export interface MetricsFlags {
  readonly from?: number;
  readonly to?: number;
  readonly last?: number;
  readonly every?: number;
  readonly points?: number;
  readonly withScores?: boolean;
  readonly columns?: string;
  readonly csv?: boolean;
}

export async function showMetrics(handle: RunHandle, output: Output, flags: MetricsFlags): Promise<number> {
  const { withScores: isMerged, columns, csv, ...selection } = flags;
  await handle.status();
  const stored = await handle.metrics(selectionOf(selection));
  const merged = isMerged ? withScores(stored, await scoresWithin(handle, stored, selection)) : [...stored];
  const names = chosenNames(merged, columns);
  const rows = names === null ? merged : merged.map((row) => onlyColumns(row, names));
  const damaged = await handle.damage();
  output.document({ run: handle.name, metrics: rows, ...(damaged.length > 0 && { damaged }) });
  if (csv) printCsv(rows, names ?? namesIn(rows), output);
  else printMetrics(rows, names, output);
  for (const text of damaged) output.note(escapeControls(text));
  return EXIT.done;
}

type Selection = Omit<MetricsFlags, 'withScores' | 'columns' | 'csv'>;

/** Of the flags, what selects. */
function selectionOf({ from, to, last, every, points }: Selection): StepSelection {
  return {
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(last !== undefined && { last }),
    ...(every !== undefined && { every }),
    ...(points !== undefined && { points }),
  };
}

/** Every score of the range, or with a selection of rows those of the rows. */
async function scoresWithin(
  handle: RunHandle,
  rows: readonly MetricsRow[],
  { from = 0, to = Infinity, last, every, points }: Selection,
): Promise<ScoreRow[]> {
  const scores = await handle.scores();
  const inRange = scores.filter(({ step }) => step >= from && step <= to);
  if (last === undefined && every === undefined && points === undefined) return inRange;
  const steps = new Set(rows.map(({ step }) => step));
  return inRange.filter(({ step }) => steps.has(step));
}

/** Names in the order they are asked for, `*` for any part of a name; null where none were. */
function chosenNames(rows: readonly MetricsRow[], columns: string | undefined): string[] | null {
  if (columns === undefined) return null;
  const known = namesIn(rows);
  if (rows.length === 0 || columns.trim() === 'all') return known;
  const patterns = columns
    .split(',')
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== '' && pattern !== 'step');
  const found = patterns.map((pattern) => known.filter((name) => namePattern(pattern).test(name)));
  const lacking = patterns.find((_, index) => found[index]?.length === 0);
  if (lacking === undefined) return [...new Set(found.flat())];
  throw new DomainError(
    'bad-config',
    `--columns: no metric is named "${lacking}". There are: ${known.join(', ')}.`,
  );
}

function namesIn(rows: readonly MetricsRow[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => name !== 'step');
}

function onlyColumns(row: MetricsRow, names: readonly string[]): MetricsRow {
  const chosen = names.flatMap((name): [string, number | null][] => {
    const value = row[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { step: row.step, ...Object.fromEntries(chosen) };
}

/** All digits, for a program that reads tables. */
function printCsv(rows: readonly MetricsRow[], names: readonly string[], output: Output): void {
  output.line(['step', ...names].map((name) => csvField(escapeControls(name))).join(','));
  for (const row of rows) output.line([row.step, ...names.map((name) => row[name] ?? '')].join(','));
}

function csvField(text: string): string {
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
