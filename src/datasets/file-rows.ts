import { DomainError } from '../core/errors';
import type { RawRow } from './dataset';
import { readJsonArray, readJsonLines } from './json-rows';
import { readParquetRows } from './parquet-rows';

type RowReader = (name: string, bytes: Uint8Array) => RawRow[] | Promise<RawRow[]>;

/** By extension. A `.json` file may hold an array or, as often on the hub, one object a line. */
const READERS = new Map<string, RowReader>([
  ['jsonl', readJsonLines],
  ['ndjson', readJsonLines],
  ['json', (name, bytes) => readJsonArray(name, bytes) ?? readJsonLines(name, bytes)],
  ['parquet', readParquetRows],
]);

export function isDatasetFile(name: string): boolean {
  return READERS.has(extensionOf(name));
}

/** What a person counts in such a file. */
export function rowWord(name: string): 'line' | 'row' {
  return READERS.get(extensionOf(name)) === readJsonLines ? 'line' : 'row';
}

export async function readFileRows(name: string, bytes: Uint8Array): Promise<RawRow[]> {
  const read = READERS.get(extensionOf(name));
  if (read) return read(name, bytes);
  throw new DomainError(
    'bad-dataset',
    `Dataset file "${name}" is in no known format. Use .jsonl (one JSON object a line), .json (an array) or .parquet.`,
  );
}

function extensionOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1).toLowerCase();
}
