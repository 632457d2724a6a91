import { malformed } from './bytes';

/**
 * The rows of an N×1 matrix that hold a value, by where each row's values start in the list of all.
 *
 * Anything but one value or none a row is refused: a reader that skips over the rest would train on other numbers
 * than were sent.
 */
export function listedRows(rowStarts: readonly number[], count: number, name: string): number[] {
  const rows: number[] = [];
  for (const [row, start] of rowStarts.slice(0, -1).entries()) {
    const valueCount = (rowStarts[row + 1] ?? 0) - start;
    if (start !== rows.length || valueCount < 0 || valueCount > 1)
      throw malformed(`row ${row} of sparse tensor "${name}" holds not one value or none`);
    if (valueCount === 1) rows.push(row);
  }
  if (rows.length !== count)
    throw malformed(`sparse tensor "${name}" lists ${count} values for ${rows.length} rows`);
  return rows;
}
