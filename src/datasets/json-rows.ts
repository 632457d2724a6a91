import { constants } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DomainError } from '../core/errors';
import { parseJsonWithSource } from '../core/json-source';
import type { RawRow } from './dataset';
import { flawOf } from './json-flaw';
import { decodeText, notUtf8 } from './not-utf8';
import { requireRows } from './wrapped-rows';

const NEWLINE = 0x0a;
const UTF8_BOM = [0xef, 0xbb, 0xbf];
const CHUNK_BYTES = 256 * 1024;
const MOST_LINE_BYTES = constants.MAX_STRING_LENGTH;
/** So much is read before others have their turn. */
const TURN_BYTES = 1024 * 1024;

/**
 * One JSON value a line. Accepts a byte order mark, CRLF, blank lines and a last line without its newline; a last line
 * that stops in the middle is reported as cut off.
 */
export async function readJsonLines(name: string, bytes: Uint8Array): Promise<RawRow[]> {
  const body = withoutMark(name, bytes);
  const rows: RawRow[] = [];
  let line = 0;
  let turnEnd = TURN_BYTES;
  for (let start = 0; start < body.length;) {
    const newline = body.indexOf(NEWLINE, start);
    const end = newline < 0 ? body.length : newline;
    line++;
    const row = readLine(name, { bytes: body.subarray(start, end), line, isUnterminated: newline < 0 });
    if (row) rows.push(row);
    start = end + 1;
    if (start < turnEnd) continue;
    turnEnd = start + TURN_BYTES;
    await nextTurn();
  }
  return rows;
}

/** As `readJsonLines`, with a part of the file and one row in memory. */
export async function* streamJsonLines(
  name: string,
  path: string,
  onBytes?: (bytes: Uint8Array) => void,
): AsyncGenerator<RawRow> {
  let line = 0;
  for await (const { bytes, isUnterminated } of linesOf(name, chunksOf(path, onBytes))) {
    line++;
    const row = readLine(name, { bytes, line, isUnterminated });
    if (row) yield row;
  }
}

async function* chunksOf(path: string, onBytes?: (bytes: Uint8Array) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
    // Without an encoding it gives bytes.
    if (!Buffer.isBuffer(chunk)) continue;
    onBytes?.(chunk);
    yield chunk;
  }
}

interface Line {
  /** null where no text can hold them. */
  readonly bytes: Uint8Array | null;
  readonly isUnterminated: boolean;
}

async function* linesOf(name: string, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  /** Of a line that goes on in the next chunk. */
  const begun = new BegunLine();
  let isFirst = true;
  for await (const chunk of chunks) {
    // A mark is at the beginning, and a chunk is longer.
    const body = isFirst ? withoutMark(name, chunk) : chunk;
    isFirst = false;
    let start = 0;
    for (let end = body.indexOf(NEWLINE); end >= 0; end = body.indexOf(NEWLINE, start)) {
      begun.add(body.subarray(start, end));
      yield { bytes: begun.end(), isUnterminated: false };
      start = end + 1;
    }
    if (start < body.length) begun.add(body.subarray(start));
  }
  if (!begun.isEmpty) yield { bytes: begun.end(), isUnterminated: true };
}

/** The parts of a line, of which no more is kept than a text can hold. */
class BegunLine {
  private parts: Uint8Array[] = [];
  private length = 0;

  get isEmpty(): boolean {
    return this.length === 0;
  }

  add(part: Uint8Array): void {
    this.length += part.length;
    if (this.length > MOST_LINE_BYTES) this.parts = [];
    else this.parts.push(part);
  }

  end(): Uint8Array | null {
    const { parts, length } = this;
    this.parts = [];
    this.length = 0;
    if (length > MOST_LINE_BYTES) return null;
    const [only] = parts;
    return only && parts.length === 1 ? only : Buffer.concat(parts);
  }
}

/** Items of a JSON array; null where the file does not begin with one. */
export function readJsonArray(name: string, bytes: Uint8Array): RawRow[] | null {
  const text = decodeText(name, withoutMark(name, bytes));
  if (!/^\s*\[/.test(text)) {
    requireRows(name, text);
    return null;
  }
  let items: unknown;
  try {
    items = parseJsonWithSource(text);
  } catch (error) {
    return readItems(text) ?? refuseArray(name, error);
  }
  if (!Array.isArray(items)) return null;
  const rows = items.map((value: unknown, index) => ({ line: index + 1, value }));
  return flawOf(text, items) === null ? rows : readItems(text);
}

/** Each item by itself, so that what is wrong with one is said of that one; null where they cannot be told apart. */
function readItems(text: string): RawRow[] | null {
  return (
    itemTexts(text)?.map((item, index) => {
      const line = index + 1;
      try {
        const value = parseJsonWithSource(item);
        const problem = flawOf(item, value);
        return problem === null ? { line, value } : { line, problem };
      } catch (error) {
        return { line, problem: `not valid JSON (${textOf(error)}).` };
      }
    }) ?? null
  );
}

function refuseArray(name: string, error: unknown): never {
  throw new DomainError('bad-dataset', `${name} is not valid JSON: ${textOf(error)}. Correct the file.`, {
    cause: error,
  });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const BOUND = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],"]/g;

/** Brackets and commas that stand in no text, and a quote that nothing closes. */
function* boundsOf(text: string): Generator<{ readonly token: string; readonly index: number }> {
  for (const { 0: token, index } of text.matchAll(BOUND)) if (token.length === 1) yield { token, index };
}

/** The texts of the items of an array; null where its brackets do not close with the text. */
function itemTexts(text: string): string[] | null {
  const texts: string[] = [];
  let [depth, start] = [0, 0];
  for (const { token, index } of boundsOf(text)) {
    const isEnd = depth === 1 && depthOf(token) <= 0;
    if (isEnd) texts.push(text.slice(start, index));
    if (isEnd || start === 0) start = index + 1;
    depth += depthOf(token);
    if (depth === 0) return isWhole(texts, text.slice(index + 1)) ? texts : null;
  }
  return null;
}

/** After a quote that nothing closes, no bracket closes the list. */
function depthOf(token: string): number {
  if (token === '"') return Number.NEGATIVE_INFINITY;
  if (token === ',') return 0;
  return token === '[' || token === '{' ? 1 : -1;
}

function isWhole(texts: readonly string[], rest: string): boolean {
  return rest.trim() === '' && texts.every((item) => item.trim() !== '');
}

function readLine(
  name: string,
  { bytes, line, isUnterminated }: Line & { readonly line: number },
): RawRow | null {
  const text = decode(bytes);
  if (text === null) return { line, problem: unreadable(bytes) };
  if (text.trim() === '') return null;
  try {
    const value = parseJsonWithSource(text);
    const problem = flawOf(text, value);
    return problem === null ? { line, value } : { line, problem };
  } catch (error) {
    // Anything else says nothing of the text.
    if (!(error instanceof SyntaxError)) throw error;
    const detail = error.message;
    if (text.trim() === '{') throw overSeveralLines(name, line);
    if (isOfCarriageReturns(text)) throw carriageReturns(name, line);
    return {
      line,
      problem: isUnterminated
        ? `the line is cut off (${detail}): the file ends in the middle of it, as after a broken download or a crash.`
        : `not valid JSON (${detail}).`,
    };
  }
}

function unreadable(bytes: Uint8Array | null): string {
  return bytes === null || bytes.length > constants.MAX_STRING_LENGTH
    ? 'the line is longer than 512 MiB.'
    : 'the line is not UTF-8 text.';
}

function overSeveralLines(name: string, line: number): DomainError {
  return new DomainError(
    'bad-dataset',
    `${name} line ${line}: a row is written over several lines. Write each on one line, for example with jq -c . OLD > NEW, or put them in a list ([…]) in a .json file.`,
  );
}

function carriageReturns(name: string, line: number): DomainError {
  return new DomainError(
    'bad-dataset',
    `${name} line ${line}: its rows end with a carriage return (\\r) alone, so that they are one line. End them with line feeds, for example with: tr '\\r' '\\n' < OLD > NEW.`,
  );
}

/** No text of JSON holds one as it is; between rows it ends lines for programs of old Macs alone. */
function isOfCarriageReturns(text: string): boolean {
  const [first = '', ...rest] = text.trim().split('\r');
  if (rest.length === 0) return false;
  try {
    JSON.parse(first);
    return true;
  } catch {
    return false;
  }
}

function withoutMark(name: string, bytes: Uint8Array): Uint8Array {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) throw notUtf8(name);
  return UTF8_BOM.every((byte, index) => bytes[index] === byte) ? bytes.subarray(UTF8_BOM.length) : bytes;
}

function decode(bytes: Uint8Array | null): string | null {
  if (bytes === null) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
