import type { ColumnMetaData, Compressors, PageHeader, SchemaElement } from 'hyparquet';
import { damaged, PageReader } from './parquet-page-reader';
import { checkPlain, checkValues } from './parquet-page-values';
import { readRuns } from './parquet-runs';

/** A column as its pages are written. */
export interface PagedColumn {
  readonly element: SchemaElement;
  readonly codec: ColumnMetaData['codec'];
  readonly compressors: Compressors;
  /** How often it may be absent: once for each optional part of its path. */
  readonly definitionLevel: number;
  /** How many lists it is in. */
  readonly repetitionLevel: number;
  readonly onText: (length: number) => void;
}

/**
 * Unpacks the pages of a column one after another and refuses those that hold anything else than they say, since the reader believes
 * them: it writes out runs as long as they are, fills up what is missing, and takes what lies behind a page for a part of it.
 */
export class PageCheck {
  private dictionarySize: number | null = null;
  private rows = 0;

  constructor(private readonly column: PagedColumn) {}

  /** Rows that begin in the pages so far. */
  get rowCount(): number {
    return this.rows;
  }

  take(header: PageHeader, bytes: Uint8Array): void {
    if (header.type === 'DICTIONARY_PAGE') this.takeDictionary(header, bytes);
    else if (header.type === 'DATA_PAGE') this.takePage(header, bytes);
    else if (header.type === 'DATA_PAGE_V2') this.takeNewerPage(header, bytes);
    else throw damaged('it is of no known type');
  }

  private takeDictionary(
    { dictionary_page_header, uncompressed_page_size }: PageHeader,
    bytes: Uint8Array,
  ): void {
    const count = countOf(dictionary_page_header?.num_values);
    const reader = new PageReader(this.unpack(bytes, uncompressed_page_size));
    checkPlain(reader, { element: this.column.element, count });
    this.dictionarySize = count;
  }

  private takePage({ data_page_header, uncompressed_page_size }: PageHeader, bytes: Uint8Array): void {
    if (!data_page_header) throw damaged('its header is not whole');
    const { num_values, encoding } = data_page_header;
    const { definitionLevel, repetitionLevel } = this.column;
    const reader = new PageReader(this.unpack(bytes, uncompressed_page_size));
    const levels = (most: number): Levels => {
      const part = most > 0 ? reader.take(reader.unsigned(4)) : reader;
      return readLevels(part, most, num_values);
    };
    this.countRows(levels(repetitionLevel));
    const count = levels(definitionLevel).highestCount;
    this.check(reader, encoding, count);
  }

  private takeNewerPage(header: PageHeader, bytes: Uint8Array): void {
    const page = header.data_page_header_v2;
    if (!page) throw damaged('its header is not whole');
    const { definitionLevel, repetitionLevel } = this.column;
    const reader = new PageReader(bytes);
    const repetitions = reader.take(page.repetition_levels_byte_length);
    const definitions = reader.take(page.definition_levels_byte_length);
    const rest = bytes.subarray(reader.offset);
    const size = countOf(header.uncompressed_page_size - reader.offset);
    this.countRows(readLevels(repetitions, repetitionLevel, page.num_values));
    const { highestCount } = readLevels(definitions, definitionLevel, page.num_values);
    if (highestCount !== page.num_values - page.num_nulls)
      throw damaged('it has more or fewer values than it says');
    const values = page.is_compressed === false ? requireSize(rest, size) : this.unpack(rest, size);
    this.check(new PageReader(values), page.encoding, highestCount);
  }

  private countRows({ lowestCount }: Levels): void {
    this.rows += lowestCount;
  }

  private check(
    reader: PageReader,
    encoding: Parameters<typeof checkValues>[1]['encoding'],
    count: number,
  ): void {
    const { element, onText } = this.column;
    checkValues(reader, { element, encoding, count, dictionarySize: this.dictionarySize, onText });
  }

  private unpack(bytes: Uint8Array, size: number): Uint8Array {
    const { codec, compressors } = this.column;
    if (codec === 'UNCOMPRESSED') return requireSize(bytes, size);
    const unpack = compressors[codec];
    if (!unpack) throw new Error(`what is packed as ${codec} is not read here`);
    return unpack(bytes, size);
  }
}

/** A number that a header has to have. */
export function countOf(value: number | undefined): number {
  if (value === undefined || !Number.isInteger(value) || value < 0) throw damaged('its header is not whole');
  return value;
}

function requireSize(bytes: Uint8Array, size: number): Uint8Array {
  if (bytes.length !== size) throw damaged(`it does not hold the ${size} bytes that it says`);
  return bytes;
}

interface Levels {
  readonly lowestCount: number;
  readonly highestCount: number;
}

function readLevels(reader: PageReader, most: number, count: number): Levels {
  if (most === 0) return { lowestCount: count, highestCount: count };
  let [lowestCount, highestCount] = [0, 0];
  for (const level of readRuns(reader, 32 - Math.clz32(most), count)) {
    if (level > most) throw damaged('a level in it is deeper than its column');
    if (level === 0) lowestCount++;
    if (level === most) highestCount++;
  }
  return { lowestCount, highestCount };
}
