import type { DecodedArray, FileMetaData, ParquetParsers, ParquetReadOptions } from 'hyparquet';
import { DomainError } from '../../core/errors';
import type { RawRow } from '../dataset';
import { NotJson } from '../not-json';
import type { ParquetLimits } from './parquet-budget';
import { PARQUET_LIMITS, ParquetBudget } from './parquet-budget';
import { checkParquetPages } from './parquet-check';
import { columnsOf, exactSchema } from './parquet-columns';
import { exactCompressors } from './parquet-compressors';
import { ParquetTexts, Unreadable } from './parquet-texts';
import { plainRow } from './parquet-values';

/**
 * Rows of a Parquet file, each put together when it is asked for. The reader is loaded with the first such file: its decompressors are
 * slow to start. It is given one group of rows at a time, since it looks through all of them for each.
 */
export async function* readParquetRows(
  name: string,
  bytes: Uint8Array,
  limits: ParquetLimits = PARQUET_LIMITS,
): AsyncGenerator<RawRow> {
  const buffer = new ArrayBuffer(bytes.byteLength);
  new Uint8Array(buffer).set(bytes);
  try {
    const compressors = await exactCompressors();
    const budget = new ParquetBudget(name, limits);
    const given = await readFooter(buffer);
    const columns = columnsOf(given.schema);
    const metadata = { ...given, schema: exactSchema(given.schema) };
    await checkParquetPages({ buffer, metadata, compressors, budget });
    const texts = new ParquetTexts();
    let line = 0;
    for (const group of metadata.row_groups) {
      const part = { ...metadata, row_groups: [group] };
      const parsers = parsersOf(texts);
      const read = await readGroup({ file: buffer, metadata: part, compressors, parsers });
      takeGroup(read, texts, budget);
      for (const row of rowsOf(read)) {
        line++;
        const problem = texts.problemIn(row);
        yield problem === null ? { line, value: plainRow(row, columns) } : { line, problem };
      }
    }
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new DomainError(
      'bad-dataset',
      `${name} is not a readable Parquet file: ${wordsOf(error)}. Fetch or write it again.`,
      { cause: error },
    );
  }
}

type GroupReading = Required<Pick<ParquetReadOptions, 'file' | 'metadata' | 'compressors' | 'parsers'>>;

interface Group {
  readonly columns: ReadonlyMap<string, GroupColumn>;
  readonly rowCount: number;
}

/** The columns of one group of rows: the reader would put all rows together at once. */
async function readGroup(reading: GroupReading): Promise<Group> {
  const { parquetRead, parquetSchema } = await import('hyparquet');
  const read = new Map<string, GroupColumn>();
  await parquetRead({
    ...reading,
    onChunk: ({ columnName, columnData, rowStart, rowEnd }) => {
      const column = read.get(columnName) ?? new GroupColumn();
      column.add({ data: columnData, start: rowStart, end: rowEnd });
      read.set(columnName, column);
    },
  });
  const { metadata } = reading;
  const columns = new Map<string, GroupColumn>();
  for (const { element } of parquetSchema(metadata).children) {
    const column = read.get(element.name);
    if (column) columns.set(element.name, column);
  }
  return { columns, rowCount: Number(metadata.row_groups[0]?.num_rows ?? 0) };
}

/** What the rows come to, before the first of them is put together. */
function takeGroup({ columns, rowCount }: Group, texts: ParquetTexts, budget: ParquetBudget): void {
  for (const [name, column] of columns) {
    budget.take('characters', name.length * rowCount);
    for (const value of column.values()) texts.take(value, budget);
  }
}

function* rowsOf({ columns, rowCount }: Group): Generator<object> {
  for (let index = 0; index < rowCount; index++) {
    const row: Record<string, unknown> = {};
    for (const [name, column] of columns) row[name] = column.at(index);
    yield row;
  }
}

interface Chunk {
  readonly data: DecodedArray;
  readonly start: number;
  readonly end: number;
}

/** The values of a column, read from the first to the last. */
class GroupColumn {
  private readonly chunks: Chunk[] = [];
  private next = 0;

  /** Of a column that is given twice the first counts. */
  add(chunk: Chunk): void {
    if (chunk.start >= (this.chunks.at(-1)?.end ?? 0)) this.chunks.push(chunk);
  }

  *values(): Generator {
    for (const { data, start, end } of this.chunks)
      for (let index = 0; index < end - start; index++) yield data[index];
  }

  at(index: number): unknown {
    while (index >= (this.chunks[this.next]?.end ?? Infinity)) this.next++;
    const chunk = this.chunks[this.next];
    return chunk?.data[index - chunk.start];
  }
}

async function readFooter(buffer: ArrayBuffer): Promise<FileMetaData> {
  const { parquetMetadata } = await import('hyparquet');
  if (Buffer.from(buffer).subarray(-ENCRYPTED.length).equals(ENCRYPTED)) throw encrypted();
  let metadata: FileMetaData;
  try {
    metadata = parquetMetadata(buffer);
  } catch (error) {
    throw isOfTheEngine(error) ? new Error('its footer is damaged', { cause: error }) : error;
  }
  const columns = metadata.row_groups.flatMap((group) => group.columns);
  if (columns.some((column) => column.crypto_metadata !== undefined)) throw encrypted();
  return metadata;
}

/** What a file ends with whose footer is encrypted; in others columns are. */
const ENCRYPTED = Buffer.from('PARE');

function encrypted(): Error {
  return new Error('it is encrypted, which has to be undone where its keys are');
}

/** The reader meets what is damaged as what is absent or out of range, of which nobody learns where to look. */
function wordsOf(error: unknown): string {
  if (isOfTheEngine(error)) return 'its pages do not fit its columns';
  return error instanceof Error ? error.message : String(error);
}

function isOfTheEngine(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const NOT_TEXT = new Unreadable('its bytes are not UTF-8 text.');

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
  geometryFromBytes: (bytes: Uint8Array) => bytes,
  geographyFromBytes: (bytes: Uint8Array) => bytes,
  dateFromDays: () => new NotJson('a date'),
  timestampFromMilliseconds: pointInTime,
  timestampFromMicroseconds: pointInTime,
  timestampFromNanoseconds: pointInTime,
};

function parsersOf(texts: ParquetTexts): Partial<ParquetParsers> {
  return {
    ...PARSERS,
    jsonFromBytes: (bytes: Uint8Array) => {
      const text = stringFromBytes(bytes);
      return typeof text === 'string' ? texts.parse(text) : text;
    },
  };
}

function pointInTime(value: bigint | undefined): unknown {
  return value === undefined ? value : new NotJson('a point in time');
}
