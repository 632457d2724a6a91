import type { CellScore } from '../../core/run';
import { formatNumber } from '../number-format';
import type { Output } from '../output';
import { printTable } from '../tables';
import { confidenceInterval } from '../tables-interval';

const HEADING = ['score', 'value', '95 %', 'n'];

/** The scores of evaluators that ran by themselves, with intervals as those of benchmarks have. */
export function printCellScores(output: Output, scores: readonly CellScore[]): void {
  printTable(output, HEADING, scores.map(rowOf));
}

function rowOf(score: CellScore): string[] {
  const { key, value, n } = score;
  const interval = confidenceInterval(score);
  return [
    key,
    value === null ? '–' : formatNumber(value),
    interval === null ? '' : `[${formatNumber(interval[0])}, ${formatNumber(interval[1])}]`,
    String(n),
  ];
}
