import { largestOf } from '../core/extremes';

const GAP = 2;
/** A narrower column would be one of words; the terminal wraps instead. */
const LEAST_ROOM = 24;

interface WrapOptions {
  readonly heading: readonly string[];
  /** Of the terminal. */
  readonly columns: number;
}

/** Rows whose last cell goes on in further rows below it, so that a table fits a terminal. */
export function wrapRows(
  rows: readonly (readonly string[])[],
  { heading, columns }: WrapOptions,
): string[][] {
  const last = heading.length - 1;
  const widths = heading
    .slice(0, last)
    .map((title, index) => Math.max(title.length, largestOf(rows.map((row) => row[index]?.length ?? 0))));
  const room = Math.max(LEAST_ROOM, columns - widths.reduce((sum, width) => sum + width + GAP, 0));
  return rows.flatMap((row) =>
    linesOf(row[last] ?? '', room).map((line, index) => [
      ...(index === 0 ? row.slice(0, last) : widths.map(() => '')),
      line,
    ]),
  );
}

export function linesOf(text: string, room: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > room) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
