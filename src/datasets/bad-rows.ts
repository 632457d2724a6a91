import { DomainError } from '../core/errors';
import { escapeControls } from '../core/escape-controls';
import type { SkippedRow } from './dataset';
import { rowWord } from './file-rows';

/** Bad rows that are named one by one. */
const MOST_NAMED = 5;

/** Others of which at least the place is told. */
const MOST_PLACED = 20;

interface Telling {
  /** How many rows the file has, those that are bad among them. */
  readonly rowCount: number;
  /** No more bad rows were looked for: `rowCount` is of the rows that were read. */
  readonly isCutOff?: boolean;
  /** What to do about a single one, with what goes before it; and about several. */
  readonly remedies: { readonly one: string; readonly many: string };
  /** Where the others are named. */
  readonly elsewhere?: string;
  /** What the rows are for. */
  readonly name?: string;
}

/**
 * Refuses a file for its bad rows, all of one file: the first of them by line, and how many there are. What a row holds stays on
 * the line that tells of it.
 */
export function badRows(
  bad: readonly SkippedRow[],
  { rowCount, remedies, elsewhere = '', name = '', isCutOff = false }: Telling,
): DomainError {
  const [{ file, line, reason } = { file: '', line: 0, reason: '' }] = bad;
  const [word, before] = [rowWord(file), name === '' ? '' : `${name}: `];
  if (bad.length === 1)
    return new DomainError(
      'bad-dataset',
      `${before}${file} ${word} ${line}: ${escapeControls(reason)}${remedies.one}`,
    );
  const more = bad.length - MOST_NAMED;
  const list = [
    ...bad.slice(0, MOST_NAMED).map((row) => `${word} ${row.line}: ${escapeControls(row.reason)}`),
    ...(more > 0 ? [`and ${more} more${elsewhere === '' ? linesOf(bad.slice(MOST_NAMED)) : elsewhere}`] : []),
  ];
  const [least, among] = isCutOff ? ['at least ', 'among its first'] : ['', 'of'];
  return new DomainError(
    'bad-dataset',
    `${before}${file} has ${least}${bad.length} bad rows ${among} ${rowCount}:\n${list.map((text) => `  - ${text}`).join('\n')}\n${remedies.many}`,
  );
}

function linesOf(others: readonly SkippedRow[]): string {
  const lines = others.slice(0, MOST_PLACED).map(({ line }) => line);
  return `: ${lines.join(', ')}${others.length > MOST_PLACED ? ' …' : ''}`;
}
