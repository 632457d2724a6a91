import type { ColumnMetaData, FileMetaData } from 'hyparquet';
import { DomainError } from '../core/errors';

/** What a Parquet file may come to when it is read. Packed, a row can take less than a hundredth of a byte. */
export interface ParquetLimits {
  readonly rows: number;
  /** Values of all columns, those of lists one by one and missing ones included. */
  readonly values: number;
  /** Unpacked pages. */
  readonly bytes: number;
}

export const PARQUET_LIMITS: ParquetLimits = {
  rows: 5_000_000,
  values: 40_000_000,
  bytes: 2 * 1024 ** 3,
};

interface PagedFile {
  /** What messages call it. */
  readonly name: string;
  readonly buffer: ArrayBuffer;
  readonly metadata: FileMetaData;
}

/**
 * Refuses with `bad-dataset` a file that comes to more than the limits, before anything of it is unpacked: by what its footer says, and
 * by what its pages say, which are what is read.
 */
export async function checkParquetSize(
  { name, buffer, metadata }: PagedFile,
  limits: ParquetLimits = PARQUET_LIMITS,
): Promise<void> {
  const { parquetHeader } = await import('hyparquet/src/column.js');
  const budget = new Budget(name, limits);
  for (const { num_rows: rows, columns } of metadata.row_groups) {
    budget.take('rows', Number(rows));
    for (const { meta_data: column } of columns) {
      if (!column) continue;
      const reader = { view: viewOf(column, buffer), offset: 0 };
      while (reader.offset < reader.view.byteLength - 1) {
        const page = parquetHeader(reader);
        reader.offset += Math.max(0, page.compressed_page_size);
        budget.take('bytes', page.uncompressed_page_size);
        const values = page.data_page_header ?? page.data_page_header_v2 ?? page.dictionary_page_header;
        budget.take('values', values?.num_values ?? 0);
      }
    }
  }
}

/** The pages of a column, where the reader looks for them. */
function viewOf(column: ColumnMetaData, buffer: ArrayBuffer): DataView {
  // A file that has no dictionary may say that it lies at 0.
  const start = Number(column.dictionary_page_offset) || Number(column.data_page_offset);
  const length = Number(column.total_compressed_size);
  if (start >= 0 && length >= 0 && start + length <= buffer.byteLength)
    return new DataView(buffer, start, length);
  throw new Error('a column lies outside of the file');
}

class Budget {
  private readonly taken: Record<keyof ParquetLimits, number> = { rows: 0, values: 0, bytes: 0 };

  constructor(
    private readonly name: string,
    private readonly limits: ParquetLimits,
  ) {}

  take(what: keyof ParquetLimits, count: number): void {
    this.taken[what] += count;
    const isWithin = count >= 0 && this.taken[what] <= this.limits[what];
    if (isWithin) return;
    throw new DomainError(
      'bad-dataset',
      `${this.name} comes to more than ${this.limits[what]} ${what} when it is unpacked, which is as many as are read of one Parquet file. If it is meant to be so large, split it into several files, or convert it to .jsonl, which is read line by line.`,
    );
  }
}
