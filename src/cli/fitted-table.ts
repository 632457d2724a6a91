import { largestOf, smallestOf } from '../core/extremes';
import { linesOf } from './wrapped-rows';

const GAP = 2;
/** No column gets narrower: a terminal that has no room for that wraps the lines itself. */
const LEAST_WIDTH = 6;

interface FittedTable {
  /** Lines of the heading. */
  readonly heading: readonly (readonly string[])[];
  readonly rows: readonly (readonly string[])[];
}

/** A table that fits so many columns of a terminal: cells of the widest columns go on below, and words without a break lose their middle. */
export function fitTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
): FittedTable {
  const natural = heading.map((title, index) =>
    Math.max(title.length, largestOf(rows.map((row) => row[index]?.length ?? 0))),
  );
  const widths = narrowed(natural, columns - GAP * (heading.length - 1));
  return { heading: splitRow(heading, widths), rows: rows.flatMap((row) => splitRow(row, widths)) };
}

/** The widest columns give way, evenly, until all have room. */
function narrowed(natural: readonly number[], room: number): number[] {
  const widths = natural.map((width) => smallestOf([width, Math.max(LEAST_WIDTH, room)]));
  const total = () => widths.reduce((sum, width) => sum + width, 0);
  while (total() > room) {
    const widest = largestOf(widths);
    if (widest <= LEAST_WIDTH) break;
    widths[widths.lastIndexOf(widest)] = widest - 1;
  }
  return widths;
}

function splitRow(row: readonly string[], widths: readonly number[]): string[][] {
  const cells = widths.map((width, index) => {
    const cell = row[index] ?? '';
    if (cell.length <= width) return [cell];
    const words = cell.split(' ').map((word) => shortened(word, width));
    return linesOf(words.join(' '), width);
  });
  const height = largestOf(cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) => cells.map((lines) => lines[line] ?? ''));
}

/** Both ends of a word that is too long for its column: those of an address tell the most. */
function shortened(word: string, width: number): string {
  if (word.length <= width) return word;
  const tail = Math.floor((width - 1) / 2);
  return `${word.slice(0, width - 1 - tail)}…${word.slice(word.length - tail)}`;
}
