import type { MetricsRow } from '../core/run';
import { escapeControls } from './escape-controls';
import { formatNumber } from './number-format';
import type { Output } from './output';
import { printTable } from './tables';
import { linesOf } from './wrapped-rows';

/** What people look at first, where a terminal has no room for everything. */
const FIRST = [
  'train/nll',
  'env/all/reward/total',
  'env/all/correct',
  'env/all/format',
  'env/all/by_group/frac_mixed',
  'env/all/ac_tokens_per_turn',
  'optim/entropy',
  'optim/kl_sample_train_v1',
  'optim/grad_norm',
  'train/loss',
];

const GAP = 2;

/**
 * One row a step. A terminal shows the columns that it has room for, those first that people look at, and says of the
 * others what they are called; what is the same in every row is said once. Elsewhere, and of columns that were asked for,
 * everything is shown.
 */
export function printMetrics(
  rows: readonly MetricsRow[],
  asked: readonly string[] | null,
  output: Output,
): void {
  if (rows.length === 0) {
    output.line('No steps yet.');
    return;
  }
  if (asked !== null || !output.isTerminal) {
    printColumns(rows, asked ?? namesOf(rows), output);
    return;
  }
  const names = inOrder(namesOf(rows));
  const constants = rows.length < 2 ? [] : names.filter((name) => isConstant(rows, name));
  const changing = names.filter((name) => !constants.includes(name));
  const shown = fitting(rows, changing, output.columns);
  printColumns(rows, shown, output);
  printConstants(rows, constants, output);
  printHidden(
    changing.filter((name) => !shown.includes(name)),
    output,
  );
}

function namesOf(rows: readonly MetricsRow[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => name !== 'step');
}

/** Scores were asked for, so they come right behind the first. */
function inOrder(names: readonly string[]): string[] {
  const rank = (name: string) => {
    const place = FIRST.indexOf(name);
    if (place >= 0) return place < 2 ? place : place + 2;
    return name.startsWith('test/') ? 3 : FIRST.length + 2;
  };
  return [...names].sort((left, right) => rank(left) - rank(right));
}

function isConstant(rows: readonly MetricsRow[], name: string): boolean {
  const [first] = rows;
  return first?.[name] !== undefined && rows.every((row) => row[name] === first[name]);
}

function fitting(rows: readonly MetricsRow[], names: readonly string[], columns: number): string[] {
  let room =
    columns -
    widthOf(
      'step',
      rows.map(({ step }) => String(step)),
    );
  return names.filter((name) => {
    const width =
      GAP +
      widthOf(
        name,
        rows.map((row) => cellOf(row, name)),
      );
    if (width > room) return false;
    room -= width;
    return true;
  });
}

function widthOf(heading: string, cells: readonly string[]): number {
  return cells.reduce((width, cell) => Math.max(width, cell.length), heading.length);
}

function cellOf(row: MetricsRow, name: string): string {
  const value = row[name];
  return typeof value === 'number' ? formatNumber(value) : '';
}

function printColumns(rows: readonly MetricsRow[], names: readonly string[], output: Output): void {
  const cells = rows.map((row) => [String(row.step), ...names.map((name) => cellOf(row, name))]);
  printTable(output, ['step', ...names.map(escapeControls)], cells);
}

function printConstants(rows: readonly MetricsRow[], names: readonly string[], output: Output): void {
  const [first] = rows;
  if (!first || names.length === 0) return;
  printWrapped(
    output,
    `The same in every row: ${names.map((name) => `${name} ${cellOf(first, name)}`).join(', ')}`,
  );
}

function printHidden(names: readonly string[], output: Output): void {
  if (names.length === 0) return;
  printWrapped(output, `${names.length} more columns: ${names.join(', ')}`);
  output.line("--columns NAME,… or 'env/*' shows these, --columns all everything; also --csv and --json.");
}

function printWrapped(output: Output, text: string): void {
  for (const line of linesOf(escapeControls(text), output.columns)) output.line(output.colors.dim(line));
}
