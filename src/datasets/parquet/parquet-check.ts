import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ColumnMetaData, Compressors, FileMetaData, PageHeader, SchemaTree } from 'hyparquet';
import type { ParquetBudget } from './parquet-budget';
import { countOf, PageCheck } from './parquet-pages';

interface PagedFile {
  readonly buffer: ArrayBuffer;
  readonly metadata: FileMetaData;
  readonly compressors: Compressors;
  readonly budget: ParquetBudget;
}

/**
 * Refuses a file that comes to more than its budget, by what its footer says and by what its pages say, which are what is read; and one
 * whose pages hold anything else than they say. Of each page the size is taken before it is unpacked, and one is unpacked at a time.
 */
export async function checkParquetPages({ buffer, metadata, compressors, budget }: PagedFile): Promise<void> {
  const { parquetSchema } = await import('hyparquet');
  const { parquetHeader } = await import('hyparquet/src/column.js');
  const leaves = leavesOf(parquetSchema(metadata));
  budget.take('columns', leaves.size);
  const onText = (length: number): void => {
    budget.take('bytes', length);
  };
  const countRows = (column: ColumnMetaData): number => {
    const leaf = leaves.get(keyOf(column.path_in_schema));
    if (!leaf) throw new Error(`its footer has no column "${column.path_in_schema.join('.')}"`);
    const check = new PageCheck({ ...leaf, codec: column.codec, compressors, onText });
    for (const { header, bytes } of pagesOf(viewOf(column, buffer), parquetHeader)) {
      budget.take('bytes', header.uncompressed_page_size);
      // The reader makes a list of every part of the path that may be absent.
      budget.take('values', valueCount(header) * Math.max(1, leaf.definitionLevel));
      check.take(header, bytes);
    }
    return check.rowCount;
  };
  for (const group of metadata.row_groups) {
    const rows = countOf(Number(group.num_rows));
    budget.take('rows', rows);
    for (const { meta_data: column } of group.columns) {
      const count = column ? countRows(column) : rows;
      if (column && count !== rows) throw otherRows(column, count, rows);
    }
    await nextTurn();
  }
}

interface Page {
  readonly header: PageHeader;
  readonly bytes: Uint8Array;
}

interface Cursor {
  readonly view: DataView;
  offset: number;
}

function* pagesOf(view: DataView, read: (reader: Cursor) => PageHeader): Generator<Page> {
  const reader = { view, offset: 0 };
  while (reader.offset < view.byteLength - 1) {
    const header = read(reader);
    countOf(header.uncompressed_page_size);
    const size = countOf(header.compressed_page_size);
    if (reader.offset + size > view.byteLength) throw new Error('a page lies outside of its column');
    yield { header, bytes: new Uint8Array(view.buffer, view.byteOffset + reader.offset, size) };
    reader.offset += size;
  }
}

function valueCount({ data_page_header, data_page_header_v2, dictionary_page_header }: PageHeader): number {
  return countOf((data_page_header ?? data_page_header_v2 ?? dictionary_page_header)?.num_values);
}

function otherRows({ path_in_schema: path }: ColumnMetaData, count: number, expected: number): Error {
  return new Error(
    `the pages of "${path.join('.')}" have ${count} rows, and its footer tells of ${expected}`,
  );
}

type Leaf = Pick<
  ConstructorParameters<typeof PageCheck>[0],
  'element' | 'definitionLevel' | 'repetitionLevel'
>;

/** The columns of the schema that have values, by their paths. Of two of one path the first is read. */
function leavesOf(root: SchemaTree): Map<string, Leaf> {
  const leaves = new Map<string, Leaf>();
  const visit = ({ element, children, path }: SchemaTree, above: Omit<Leaf, 'element'>): void => {
    const { repetition_type: kind } = element;
    const leaf = {
      element,
      definitionLevel: above.definitionLevel + (path.length > 0 && kind !== 'REQUIRED' ? 1 : 0),
      repetitionLevel: above.repetitionLevel + (kind === 'REPEATED' ? 1 : 0),
    };
    if (children.length === 0 && !leaves.has(keyOf(path))) leaves.set(keyOf(path), leaf);
    for (const child of children) visit(child, leaf);
  };
  visit(root, { definitionLevel: 0, repetitionLevel: 0 });
  return leaves;
}

function keyOf(path: readonly string[]): string {
  return path.join('\0');
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
