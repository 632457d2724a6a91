import { DomainError } from '../core/errors';
import type { RawRow } from './dataset';

/**
 * Rows of a comma-separated file (RFC 4180) under the names of its first line, all values text. Quoted fields may hold
 * commas, line breaks and doubled quotes. `line` is the number of the record.
 */
export function readCsvRows(name: string, bytes: Uint8Array): RawRow[] {
  const [names = [], ...records] = readRecords(name, new TextDecoder('utf-8').decode(bytes));
  return records.map((fields, index) => {
    const line = index + 2;
    if (fields.length !== names.length) {
      return { line, problem: `${fields.length} fields under ${names.length} names.` };
    }
    return { line, value: Object.fromEntries(names.map((field, column) => [field, fields[column] ?? ''])) };
  });
}

/** A field with what ends it; quoted fields first. */
const FIELD = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|\r|$)/y;

function readRecords(name: string, text: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  FIELD.lastIndex = 0;
  while (FIELD.lastIndex < text.length || record.length > 0) {
    const match = FIELD.exec(text);
    if (!match) {
      throw new DomainError(
        'bad-dataset',
        `${name} is not readable CSV: record ${records.length + 1} has a stray quote. Correct the file.`,
      );
    }
    const [, quoted, plain = '', end] = match;
    record.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    if (record.length > 1 || record[0] !== '') records.push(record);
    record = [];
  }
  return records;
}
