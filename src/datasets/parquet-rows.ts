import { DomainError } from '../core/errors';
import { parseJsonWithSource } from '../core/json-source';
import type { RawRow } from './dataset';
import { NotJson } from './not-json';
import type { ParquetLimits } from './parquet-budget';
import { checkParquetSize } from './parquet-budget';
import { columnsOf, exactSchema } from './parquet-columns';
import { plainRow } from './parquet-values';

/** Rows of a Parquet file. The reader is loaded with the first such file: its decompressors are slow to start. */
export async function readParquetRows(
  name: string,
  bytes: Uint8Array,
  limits?: ParquetLimits,
): Promise<RawRow[]> {
  const { parquetMetadata, parquetReadObjects } = await import('hyparquet');
  const { compressors } = await import('hyparquet-compressors');
  const buffer = new ArrayBuffer(bytes.byteLength);
  new Uint8Array(buffer).set(bytes);
  try {
    const given = parquetMetadata(buffer);
    await checkParquetSize({ name, buffer, metadata: given }, limits);
    const columns = columnsOf(given.schema);
    const metadata = { ...given, schema: exactSchema(given.schema) };
    const rows: unknown[] = await parquetReadObjects({
      ...{ file: buffer, metadata, compressors, parsers: PARSERS },
    });
    return rows.map((value, index) => {
      const column = notTextIn(value);
      const problem = `field "${column ?? ''}": its bytes are not UTF-8 text.`;
      return { line: index + 1, ...(column === null ? { value: plainRow(value, columns) } : { problem }) };
    });
  } catch (error) {
    if (error instanceof DomainError) throw error;
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

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** What stands for bytes that are no text: U+FFFD in their place would be trained. */
const NOT_TEXT = Symbol('bytes that are no text');

/** Absent values have no bytes. */
function stringFromBytes(bytes: Uint8Array | undefined): unknown {
  if (!bytes) return bytes;
  try {
    return UTF8.decode(bytes);
  } catch {
    return NOT_TEXT;
  }
}

/** Absent values are not parsed. */
const PARSERS = {
  stringFromBytes,
  jsonFromBytes: (bytes: Uint8Array) => {
    const text = stringFromBytes(bytes);
    return typeof text === 'string' ? parseJsonWithSource(text) : text;
  },
  geometryFromBytes: (bytes: Uint8Array) => bytes,
  geographyFromBytes: (bytes: Uint8Array) => bytes,
  dateFromDays: () => new NotJson('a date'),
  timestampFromMilliseconds: pointInTime,
  timestampFromMicroseconds: pointInTime,
  timestampFromNanoseconds: pointInTime,
};

function pointInTime(value: bigint | undefined): unknown {
  return value === undefined ? value : new NotJson('a point in time');
}

/** The field of a row that holds bytes that are no text, at any depth; null where none does. */
function notTextIn(row: unknown): string | null {
  if (typeof row !== 'object' || row === null) return null;
  const holds = (value: unknown): boolean =>
    value === NOT_TEXT || ((Array.isArray(value) || isStruct(value)) && Object.values(value).some(holds));
  const [field] = Object.entries(row).find(([, value]) => holds(value)) ?? [];
  return field ?? null;
}

function isStruct(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
