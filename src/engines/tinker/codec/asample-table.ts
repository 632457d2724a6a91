import type { NumberTable } from '../../../core/sampling';
import { malformed } from './bytes';

type Values = Int32Array | Float32Array;
type Cells<V extends Values> = Pick<NumberTable<V>, 'values' | 'sparse'>;

/** Refuses what does not fit together, so that whoever reads the table needs no checks. */
export function checkedTable<V extends Values>(
  what: string,
  shape: readonly number[],
  { values, sparse }: Cells<V>,
): NumberTable<V> {
  const [rowCount = 0, columnCount = 0] = shape;
  if (shape.length !== 2 || rowCount < 0 || columnCount < 0)
    throw malformed(`${what} has shape ${shape.join('×')}; it must have rows and columns`);
  const table = { rowCount, columnCount, values, sparse };
  if (sparse !== null) checkSparse(what, table, sparse);
  else if (values.length !== rowCount * columnCount)
    throw malformed(`${what} has ${values.length} values for shape ${shape.join('×')}`);
  return table;
}

function checkSparse(
  what: string,
  { rowCount, columnCount, values }: NumberTable<Values>,
  { rowStarts, columns }: NonNullable<NumberTable<Values>['sparse']>,
): void {
  const isInOrder =
    rowStarts.length === rowCount + 1 &&
    rowStarts[0] === 0 &&
    rowStarts.at(-1) === values.length &&
    rowStarts.every((start, row) => start >= (rowStarts[row - 1] ?? 0));
  if (!isInOrder) throw malformed(`${what} has row pointers that do not fit ${values.length} values`);
  if (columns.length !== values.length || columns.some((column) => column < 0 || column >= columnCount))
    throw malformed(`${what} lists columns that do not fit ${rowCount}×${columnCount}`);
}
