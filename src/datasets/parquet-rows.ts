import { DomainError } from '../core/errors';
import type { RawRow } from './dataset';

/** Rows of a Parquet file. The reader is loaded with the first such file: its decompressors are slow to start. */
export async function readParquetRows(name: string, bytes: Uint8Array): Promise<RawRow[]> {
  const { parquetReadObjects } = await import('hyparquet');
  const { compressors } = await import('hyparquet-compressors');
  const buffer = new ArrayBuffer(bytes.byteLength);
  new Uint8Array(buffer).set(bytes);
  try {
    const rows: unknown[] = await parquetReadObjects({ file: buffer, compressors });
    return rows.map((value, index) => ({ line: index + 1, value }));
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new DomainError(
      'bad-dataset',
      `${name} is not a readable Parquet file: ${detail}. Fetch or write it again.`,
      {
        cause: error,
      },
    );
  }
}
