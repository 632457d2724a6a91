import type { RawRow } from '../../../src/datasets/dataset';
import { readParquetRows } from '../../../src/datasets/parquet/parquet-rows';

/** All rows of a Parquet file. */
export async function allParquetRows(...file: Parameters<typeof readParquetRows>): Promise<RawRow[]> {
  const rows: RawRow[] = [];
  for await (const row of readParquetRows(...file)) rows.push(row);
  return rows;
}
