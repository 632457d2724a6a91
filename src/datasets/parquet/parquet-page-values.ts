import type { Encoding, SchemaElement } from 'hyparquet';
import { readLengths, skipDeltas } from './parquet-deltas';
import type { PageReader } from './parquet-page-reader';
import { damaged } from './parquet-page-reader';
import { readRuns } from './parquet-runs';

/** The values of a page as its header and its levels tell of them. */
export interface PageValues {
  readonly element: SchemaElement;
  readonly encoding: Encoding;
  readonly count: number;
  /** Null where its column has no dictionary so far. */
  readonly dictionarySize: number | null;
  /** Told of texts that become longer than their page, each with its length. */
  readonly onText: (length: number) => void;
}

/** Refuses values that are more, fewer, longer or elsewhere than their page has them. What it does not know the reader refuses. */
export function checkValues(reader: PageReader, values: PageValues): void {
  const { encoding, count } = values;
  if (encoding === 'PLAIN') checkPlain(reader, values);
  else if (encoding === 'PLAIN_DICTIONARY' || encoding === 'RLE_DICTIONARY') checkPlaces(reader, values);
  else if (encoding === 'RLE') checkBooleans(reader, values);
  else if (encoding === 'BYTE_STREAM_SPLIT') reader.skip(byteCount(values.element, count));
  else if (encoding === 'DELTA_BINARY_PACKED') skipDeltas(reader, count);
  else if (encoding === 'DELTA_LENGTH_BYTE_ARRAY') skipTexts(reader, readLengths(reader, count));
  else if (encoding === 'DELTA_BYTE_ARRAY') checkPrefixed(reader, values);
  else throw new Error(`its encoding ${encoding} is not known here`);
}

/** Values one behind the other, as those of a dictionary are too. */
export function checkPlain(
  reader: PageReader,
  { element, count }: Pick<PageValues, 'element' | 'count'>,
): void {
  if (element.type !== 'BYTE_ARRAY') reader.skip(byteCount(element, count));
  else for (let index = 0; index < count; index++) reader.skip(reader.unsigned(4));
}

const BIT_WIDTHS = new Map<SchemaElement['type'], number>([
  ['BOOLEAN', 1],
  ['INT32', 32],
  ['INT64', 64],
  ['INT96', 96],
  ['FLOAT', 32],
  ['DOUBLE', 64],
]);

function byteCount({ type, type_length: length = 0 }: SchemaElement, count: number): number {
  return Math.ceil((count * (BIT_WIDTHS.get(type) ?? length * 8)) / 8);
}

function checkPlaces(reader: PageReader, { count, dictionarySize }: PageValues): void {
  if (dictionarySize === null) throw damaged('its dictionary is missing');
  const width = reader.byte();
  // Of a dictionary of one value some writers write no places.
  const isEmpty = width === 0 && reader.left === 0;
  const places = isEmpty ? new Uint32Array(count) : readRuns(reader, width, count);
  if (places.some((place) => place >= dictionarySize))
    throw damaged('it has values that are not in its dictionary');
}

function checkBooleans(reader: PageReader, { element, count }: PageValues): void {
  if (element.type !== 'BOOLEAN') throw damaged(`it has a ${element.type ?? 'value'} as runs`);
  readRuns(reader.take(reader.unsigned(4)), 1, count);
}

/** Texts that begin as the one before does. */
function checkPrefixed(reader: PageReader, { count, onText }: PageValues): void {
  const prefixes = readLengths(reader, count);
  const suffixes = readLengths(reader, count);
  let previous = 0;
  for (const [index, prefix] of prefixes.entries()) {
    if (prefix > previous) throw damaged('a text in it begins with more than the one before has');
    previous = prefix + (suffixes[index] ?? 0);
    onText(previous);
  }
  skipTexts(reader, suffixes);
}

function skipTexts(reader: PageReader, lengths: Int32Array): void {
  for (const length of lengths) reader.skip(length);
}
