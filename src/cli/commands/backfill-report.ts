import { basename, dirname, sep } from 'node:path';
import type { BackfillState, MatrixCell } from '../../core/backfill';
import { checkpointLabel, countCells } from '../../core/backfill';
import { shellWord } from '../../core/shell-word';
import { escapeControls } from '../escape-controls';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import { printTable } from '../tables';

/** The matrix as a table, with what is missing and why; with `--json` its document. */
export function printMatrix({ name, cells }: BackfillState, output: Output): void {
  const counts = countCells(cells);
  output.document({ name, counts, cells });
  const benchmarks = [...new Set(cells.map(({ benchmark }) => benchmark))];
  printTable(output, ['checkpoint', ...benchmarks], rowsOf(cells, benchmarks));
  printReasons(cells, output);
  const told = Object.entries(counts).filter(([, count]) => count > 0);
  output.note(`Backfill ${name}: ${told.map(([status, count]) => `${count} ${status}`).join(', ')}.`);
  suggestComparison(cells, output);
}

function rowsOf(cells: readonly MatrixCell[], benchmarks: readonly string[]): string[][] {
  const rows = new Map<string, Map<string, string>>();
  for (const cell of cells) {
    const label = checkpointLabel(cell);
    const row = rows.get(label) ?? new Map<string, string>();
    rows.set(label, row.set(cell.benchmark, cellText(cell)));
  }
  return [...rows].map(([label, row]) => [label, ...benchmarks.map((benchmark) => row.get(benchmark) ?? '')]);
}

function cellText({ status, score, interval, numErrors }: MatrixCell): string {
  if (score === null) return status;
  const range = interval ? ` [${formatNumber(interval[0])}, ${formatNumber(interval[1])}]` : '';
  const errors = numErrors > 0 ? ` (${numErrors} errors)` : '';
  return `${formatNumber(score)}${range}${errors}`;
}

/** Each reason once, with the cells that have it. */
function printReasons(cells: readonly MatrixCell[], output: Output): void {
  const places = new Map<string, string[]>();
  for (const cell of cells) {
    if (cell.reason === null) continue;
    const text = `${cell.status === 'missing' ? 'failed last time' : cell.status}: ${escapeControls(cell.reason)}`;
    places.set(text, [...(places.get(text) ?? []), `${checkpointLabel(cell)} ${cell.benchmark}`]);
  }
  for (const [text, at] of places) {
    const others = at.length > 1 ? ` and ${at.length - 1} more` : '';
    output.note(escapeControls(`${at[0] ?? ''}${others} ${text}`));
  }
  if (cells.some(({ status }) => status === 'partial' || status === 'failed')) {
    output.note('Give the same command again to try what failed.');
  }
}

/** The first and the last score of a benchmark are what people look at first. */
function suggestComparison(cells: readonly MatrixCell[], output: Output): void {
  const [first] = cells.filter(({ score }) => score !== null);
  const last = cells.findLast(({ score, benchmark }) => score !== null && benchmark === first?.benchmark);
  if (!first?.dir || !last?.dir || first === last) return;
  const words = `compare ${shellWord(resultName(first.dir))} ${shellWord(resultName(last.dir))}`;
  output.note(`Better, or chance? ${output.hint(words)}`);
}

/** An eval run by its name; what lies in a training run by its folder. */
function resultName(dir: string): string {
  const folder = dirname(dir);
  return basename(dirname(folder)) === 'evals' && !folder.includes(`${sep}runs${sep}`)
    ? basename(folder)
    : dir;
}
