import { DomainError } from '../core/errors';
import type { RawRow } from './dataset';
import { firstRepeated } from './first-repeated';
import { decodeText } from './not-utf8';

/**
 * Rows of a comma-separated file (RFC 4180) under the names of its first line, all values text. Quoted fields may hold
 * commas, line breaks and doubled quotes. `line` is the one that the record begins in.
 */
export function readCsvRows(name: string, bytes: Uint8Array): RawRow[] {
  const text = decodeText(name, bytes);
  requireCommas(name, text);
  const [heading, ...records] = readRecords(name, text);
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

const OTHER_SEPARATORS = [
  { separator: ';', called: 'semicolons', written: ';' },
  { separator: '\t', called: 'tabs', written: '\\t' },
  { separator: '|', called: 'bars', written: '|' },
];

/** Spreadsheets of many countries write semicolons: a whole line would be the name of one column. */
function requireCommas(name: string, text: string): void {
  const [heading = ''] = text.split(/\r?\n|\r/, 1);
  const other = OTHER_SEPARATORS.find(({ separator }) => heading.includes(separator));
  if (!other || heading.includes(',')) return;
  throw new DomainError(
    'bad-dataset',
    `${name}: its columns are separated by ${other.called}, and CSV is read with commas. Convert it, for example in Python: ` +
      `pandas.read_csv(OLD, sep='${other.written}', dtype=str, keep_default_na=False).to_csv(NEW, index=False).`,
  );
}

const PLAIN = /[^",\r\n]*/y;
const END = /,|\r?\n|\r|$/y;
const LINE_BREAK = /\r\n|\r|\n/g;

interface CsvRecord {
  readonly fields: readonly string[];
  readonly line: number;
}

function readRecords(name: string, text: string): CsvRecord[] {
  const records: CsvRecord[] = [];
  let fields: string[] = [];
  let [line, begunAt, position] = [1, 1, 0];
  while (position < text.length || fields.length > 0) {
    const field = fieldAt(text, position);
    const end = field === null ? null : matchAt(END, text, position + field.length);
    if (field === null || end === null) throw strayQuote(name, line);
    position += field.length + end.length;
    line += lineBreaksIn(field) + lineBreaksIn(end);
    fields.push(unquoted(field));
    if (end === ',') continue;
    if (!isBlank(fields)) records.push({ fields, line: begunAt });
    begunAt = line;
    fields = [];
  }
  return records;
}

function fieldAt(text: string, position: number): string | null {
  return text[position] === '"' ? quotedAt(text, position) : matchAt(PLAIN, text, position);
}

function unquoted(field: string): string {
  return field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field;
}

/** With its quotes; null where nothing closes it. Fields can be longer than a pattern that looks back has memory for. */
function quotedAt(text: string, start: number): string | null {
  for (let from = start + 1; ;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return null;
    if (text[quote + 1] !== '"') return text.slice(start, quote + 1);
    from = quote + 2;
  }
}

function matchAt(pattern: RegExp, text: string, position: number): string | null {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0] ?? null;
}

function lineBreaksIn(text: string): number {
  let count = 0;
  LINE_BREAK.lastIndex = 0;
  while (LINE_BREAK.test(text)) count += 1;
  return count;
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
