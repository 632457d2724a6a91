import { readFile, stat } from 'node:fs/promises';
import { DomainError } from '../core/errors';
import { readCsvRows } from './csv-rows';
import type { DatasetFile, RawRow } from './dataset';
import { readJsonArray, readJsonLines, streamJsonLines } from './json-rows';
import { tooLong } from './not-utf8';
import { readParquetRows } from './parquet/parquet-rows';
import { requireNoPointer } from './pointer-file';

/** What Node reads at once. */
const MOST_PARQUET_BYTES = 2 ** 31 - 1;
/** Of which a text can be made. */
const MOST_TEXT_BYTES = 2 ** 29;

type RowReader = (name: string, bytes: Uint8Array) => RawRow[] | Promise<RawRow[]> | AsyncIterable<RawRow>;

/** By extension. A `.json` file may hold an array or, as often on the hub, one object a line. */
const READERS = new Map<string, RowReader>([
  ['jsonl', readJsonLines],
  ['ndjson', readJsonLines],
  ['json', (name, bytes) => readJsonArray(name, bytes) ?? readJsonLines(name, bytes)],
  ['parquet', readParquetRows],
  ['csv', readCsvRows],
]);

const UNPACKED_BY = new Map([
  ['gz', 'gunzip -k FILE'],
  ['zst', 'zstd -d FILE'],
  ['xz', 'xz -dk FILE'],
  ['bz2', 'bunzip2 -k FILE'],
  ['zip', 'unzip FILE'],
]);

/** Whether a file is taken without being named. CSV files beside the data are often lists of something else. */
export function isDatasetFile(name: string): boolean {
  return READERS.has(extensionOf(name)) && extensionOf(name) !== 'csv';
}

/** What a person counts in such a file. */
export function rowWord(name: string): 'line' | 'row' {
  const read = READERS.get(extensionOf(name));
  return read === readJsonLines || read === readCsvRows ? 'line' : 'row';
}

export async function* readFileRows(name: string, bytes: Uint8Array): AsyncGenerator<RawRow> {
  const read = READERS.get(extensionOf(name));
  if (read) {
    yield* await read(name, bytes);
    return;
  }
  const unpacked = UNPACKED_BY.get(extensionOf(name));
  if (unpacked !== undefined)
    throw new DomainError(
      'bad-dataset',
      `Dataset file "${name}" is packed. Unpack it, for example with ${unpacked}.`,
    );
  throw new DomainError(
    'bad-dataset',
    `Dataset file "${name}" is in no known format. Use .jsonl (one JSON object a line), .json (an array), .parquet or .csv.`,
  );
}

/** One after another; only files with a row a line are read in parts. `onBytes` is given all bytes of the file, in their order. */
export async function* streamFileRows(
  { name, path }: DatasetFile,
  onBytes: (bytes: Uint8Array) => void = () => undefined,
): AsyncGenerator<RawRow> {
  await requireNoPointer(name, path);
  if (READERS.get(extensionOf(name)) === readJsonLines) {
    yield* streamJsonLines(name, path, onBytes);
    return;
  }
  requireReadable(name, (await stat(path)).size);
  const bytes = await readFile(path);
  onBytes(bytes);
  yield* readFileRows(name, bytes);
}

/** What is read as a whole is measured before. */
function requireReadable(name: string, size: number): void {
  if (extensionOf(name) === 'parquet') {
    if (size > MOST_PARQUET_BYTES) throw tooLargeTable(name);
  } else if (size > MOST_TEXT_BYTES) throw tooLong(name);
}

function tooLargeTable(name: string): DomainError {
  return new DomainError(
    'bad-dataset',
    `${name} is larger than 2 GiB, which is as much as is read of one Parquet file. Split it into several files, or convert it to .jsonl, which is read line by line.`,
  );
}

function extensionOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1).toLowerCase();
}
