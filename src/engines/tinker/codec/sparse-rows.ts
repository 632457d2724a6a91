import { malformed } from './bytes';

/** Of a whole request: what its sparse tensors become in memory, which a few bytes could else make anything. */
const MOST_DENSE_CELLS = 16_777_216;

/** Hands out room for the dense form of sparse tensors, for the tensors of one request. */
export class DenseRoom {
  private left = MOST_DENSE_CELLS;

  take(cells: number, name: string): void {
    this.left -= cells;
    if (this.left < 0)
      throw malformed(
        `with "${name}" the sparse tensors stand for more than ${MOST_DENSE_CELLS} values; send several requests`,
      );
  }
}

export interface SparseMatrix {
  readonly name: string;
  readonly rowCount: number;
  readonly columnCount: number;
  /** Where each row's values start in the list of all, and their count at the end. */
  readonly rowStarts: readonly number[];
  /** Of each value listed. */
  readonly columns: readonly number[];
}

function checkRowStarts({ name, rowCount, rowStarts, columns }: Omit<SparseMatrix, 'columnCount'>): void {
  if (rowStarts.length !== rowCount + 1)
    throw malformed(`sparse tensor "${name}" does not fit ${rowCount} tokens`);
  if (rowStarts[0] !== 0 || rowStarts[rowCount] !== columns.length)
    throw malformed(`sparse tensor "${name}" lists ${columns.length} values, but its rows hold others`);
}

/**
 * The cells of a matrix that hold a value, counted row by row, in the order of the values.
 *
 * Anything out of order is refused: a reader that skips over it would train on other numbers than were sent.
 */
export function listedCells({ name, rowCount, columnCount, rowStarts, columns }: SparseMatrix): number[] {
  checkRowStarts({ name, rowCount, rowStarts, columns });
  const cells: number[] = [];
  for (let row = 0; row < rowCount; row++) {
    const end = rowStarts[row + 1] ?? 0;
    if (end < cells.length || end > columns.length)
      throw malformed(`row ${row} of sparse tensor "${name}" ends before it starts, or past all values`);
    let last = -1;
    while (cells.length < end) {
      const column = columns[cells.length] ?? -1;
      if (column <= last || column >= columnCount)
        throw malformed(
          `row ${row} of sparse tensor "${name}" names column ${column} out of order, or has not so many`,
        );
      cells.push(row * columnCount + column);
      last = column;
    }
  }
  return cells;
}
