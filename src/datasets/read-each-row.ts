import { MOST_BAD_ROWS } from '../core/bad-row-list';
import { DomainError } from '../core/errors';
import { badRows } from './bad-rows';
import type { SkippedRow } from './dataset';
import type { LoadedRows } from './read-rows';
import { RowProblem } from './row-problem';
import { placeOfRow, RowPlace } from './row-place';

type Row = LoadedRows['rows'][number];

interface Reading {
  /** What the rows are for. */
  readonly name?: string;
  /** Of their rows in general, behind what is wrong with one. */
  readonly form?: string;
}

/**
 * Reads each of the rows. Those of the first file that has bad ones are refused together, by line, so that nobody has to correct them one
 * after another.
 */
export function readEachRow<Value>(
  { rows, source, unread = [] }: LoadedRows,
  read: (row: Row, index: number) => Value,
  { name, form }: Reading = {},
): Value[] {
  const values: Value[] = [];
  const bad: SkippedRow[] = [...unread];
  for (const [index, row] of rows.entries()) {
    if (bad.length >= MOST_BAD_ROWS) break;
    try {
      values.push(read(row, index));
    } catch (error) {
      bad.push(refused(error, placeOfRow(row) ?? new RowPlace(source, index + 1)));
    }
  }
  const [first] = bad;
  if (first === undefined) return values;
  const fileOf = (row: Row) => placeOfRow(row)?.file ?? source;
  const readCount = rows.filter((row) => fileOf(row) === first.file).length;
  const behind = form === undefined ? '' : ` ${form}`;
  throw badRows(
    bad.filter(({ file }) => file === first.file).sort((left, right) => left.line - right.line),
    {
      rowCount: readCount + unread.length,
      isCutOff: bad.length >= MOST_BAD_ROWS,
      remedies: { one: behind, many: `Correct the rows.${behind}` },
      ...(name !== undefined && { name }),
    },
  );
}

function refused(error: unknown, { file, line }: RowPlace): SkippedRow {
  if (!(error instanceof DomainError) || error.code !== 'bad-dataset') throw error;
  return { file, line, reason: new RowProblem(error.message.replace(/^example: /, '')).message };
}
