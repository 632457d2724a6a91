import Table from 'cli-table3';
import { escapeControls } from './escape-controls';
import { fitTable } from './fitted-table';
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

/**
 * Columns under a heading, no broader than the terminal; whole where there is none. Cells are escaped, so that no name can steer the
 * terminal.
 */
export function printTable(
  output: Output,
  heading: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const escaped = rows.map((row) => row.map(escapeControls));
  const whole = { heading: [heading], rows: escaped };
  const fitted = output.isTerminal ? fitTable(heading, escaped, output.columns) : whole;
  const table = new Table({
    chars: NO_BORDERS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  });
  for (const titles of fitted.heading) table.push(titles.map((title) => output.colors.bold(title)));
  for (const row of fitted.rows) table.push([...row]);
  for (const line of table.toString().split('\n')) output.line(line.trimEnd());
}
