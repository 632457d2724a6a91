import { DomainError } from '../core/errors';
import { rememberSource } from '../core/json-source';
import { floatText } from '../core/python-float';
import type { RawRow } from './dataset';
import type { ParquetLimits } from './parquet-budget';
import { checkParquetSize } from './parquet-budget';

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
    const metadata = parquetMetadata(buffer);
    await checkParquetSize({ name, buffer, metadata }, limits);
    const floats = floatColumns(metadata.schema);
    const parsers = { stringFromBytes };
    const rows: unknown[] = await parquetReadObjects({ file: buffer, metadata, compressors, parsers });
    return rows.map((value, index) => {
      const column = notTextIn(value);
      const problem = `field "${column ?? ''}": its bytes are not UTF-8 text.`;
      return { line: index + 1, ...(column === null ? { value: plainRow(value, floats) } : { problem }) };
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

/** The field of a row that holds bytes that are no text, at any depth; null where none does. */
function notTextIn(row: unknown): string | null {
  if (typeof row !== 'object' || row === null) return null;
  const holds = (value: unknown): boolean =>
    value === NOT_TEXT || ((Array.isArray(value) || isStruct(value)) && Object.values(value).some(holds));
  const [field] = Object.entries(row).find(([, value]) => holds(value)) ?? [];
  return field ?? null;
}

/** Names of columns that hold floats and nowhere integers: their `2` is `2.0`. */
function floatColumns(schema: readonly { readonly name: string; readonly type?: string }[]): Set<string> {
  const named = (types: readonly string[]) =>
    schema.filter(({ type }) => types.includes(type ?? '')).map(({ name }) => name);
  const integers = new Set(named(['INT32', 'INT64']));
  return new Set(named(['FLOAT', 'DOUBLE']).filter((name) => !integers.has(name)));
}

/** A row keeps its empty columns; structs have a null for every key that another row's has, which says nothing. */
function plainRow(row: unknown, floats: ReadonlySet<string>): unknown {
  if (!isStruct(row)) return plain(row, 'element', floats).value;
  const members = Object.entries(row).map(([key, item]) => ({ key, ...plain(item, key, floats) }));
  const json = members.map(({ key, json: text }) => `${JSON.stringify(key)}:${text}`).join(',');
  return remembered(Object.fromEntries(members.map(({ key, value }) => [key, value])), `{${json}}`).value;
}

interface Plain {
  readonly value: unknown;
  readonly json: string;
}

/** With the JSON text in which 64-bit integers keep their digits and floats are told from integers. */
function plain(value: unknown, column: string, floats: ReadonlySet<string>): Plain {
  if (typeof value === 'bigint') return { value: Number(value), json: String(value) };
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => plain(item, 'element', floats));
    const list = items.map((item) => item.value);
    return remembered(list, `[${items.map(({ json }) => json).join(',')}]`);
  }
  if (isStruct(value)) return plainStruct(value, floats);
  return { value, json: scalarText(value, floats.has(column)) };
}

/** Floats as Python writes them, which is how other tools show them to a model. */
function scalarText(value: unknown, isFloat: boolean): string {
  if (typeof value === 'number' && Number.isFinite(value) && (isFloat || !Number.isInteger(value)))
    return floatText(value);
  return value === undefined ? 'null' : JSON.stringify(value);
}

function plainStruct(struct: object, floats: ReadonlySet<string>): Plain {
  const members = Object.entries(struct)
    .filter(([, item]) => item !== null && item !== undefined)
    .map(([key, item]) => ({ key, ...plain(item, key, floats) }));
  const json = members.map(({ key, json: text }) => `${JSON.stringify(key)}:${text}`).join(',');
  return remembered(Object.fromEntries(members.map(({ key, value }) => [key, value])), `{${json}}`);
}

function remembered(value: object, json: string): Plain {
  if (json !== JSON.stringify(value)) rememberSource(value, json);
  return { value, json };
}

/** Dates and bytes are left as they are. */
function isStruct(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
