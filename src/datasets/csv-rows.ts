import { DomainError } from '../core/errors';
import type { RawRow } from './dataset';
import { firstRepeated } from './first-repeated';
import { decodeText } from './not-utf8';

/**
 * Rows of a comma-separated file (RFC 4180) under the names of its first line, all values text. Quoted fields may hold
 * commas, line breaks and doubled quotes. `line` is the one that the record begins in.
 */
export function readCsvRows(name: string, bytes: Uint8Array): RawRow[] {
  const [heading, ...records] = readRecords(name, decodeText(name, bytes));
  const names = heading?.fields ?? [];
  const repeated = firstRepeated(names);
  if (repeated !== undefined) throw repeatedColumn(name, repeated);
  return records.map(({ fields, line }) => {
    if (fields.length !== names.length) {
      return { line, problem: `${fields.length} fields under ${names.length} names.` };
    }
    return { line, value: Object.fromEntries(names.map((field, column) => [field, fields[column] ?? ''])) };
  });
}

function repeatedColumn(name: string, column: string): DomainError {
  return new DomainError(
    'bad-dataset',
    `${name}: two columns are called "${column}", of which only the last would count. Rename or remove one.`,
  );
}

/** A field with what ends it; quoted fields first. */
const FIELD = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|\r|$)/y;

const LINE_BREAK = /\r\n|\r|\n/g;

interface CsvRecord {
  readonly fields: readonly string[];
  readonly line: number;
}

function readRecords(name: string, text: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  let fields: string[] = [];
  let [line, begunAt] = [1, 1];
  FIELD.lastIndex = 0;
  while (FIELD.lastIndex < text.length || fields.length > 0) {
    const match = FIELD.exec(text);
    if (!match) throw strayQuote(name, line);
    const [whole, quoted, plain = '', end] = match;
    line += lineBreaksIn(whole);
    fields.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ',') continue;
    if (!isBlank(fields)) records.push({ fields, line: begunAt });
    begunAt = line;
    fields = [];
  }
  return records;
}

function lineBreaksIn(text: string): number {
  return [...text.matchAll(LINE_BREAK)].length;
}

function isBlank(fields: readonly string[]): boolean {
  return fields.length === 1 && fields[0] === '';
}

function strayQuote(name: string, line: number): DomainError {
  return new DomainError(
    'bad-dataset',
    `${name} is not readable CSV: line ${line} has a stray quote. Correct the file.`,
  );
}
