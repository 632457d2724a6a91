import { TextDecoder } from 'node:util';
import { DomainError } from '../../core/errors';
import { escapeControls } from '../../core/escape-controls';
import { parseJson } from '../../core/whole-floats';

const NEWLINE = 0x0a;
const MOST_MEBIBYTES = 256;
const MOST_BYTES = MOST_MEBIBYTES * 2 ** 20;

export interface JsonLine {
  readonly number: number;
  readonly value: unknown;
}

/**
 * The values of a JSONL file, one at a time. Only `\n` ends a line: JSON text may hold other line separators. A byte order
 * mark is passed over, and so are blank lines at the end; any other line that is no JSON, or too long, is refused by its number.
 */
export async function* readJsonLines(
  name: string,
  chunks: AsyncIterable<Buffer>,
  parseLine: (text: string) => unknown = parseJson,
): AsyncGenerator<JsonLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let blank: number | null = null;
  const lines = splitLines(chunks, () => problem(name, number + 1, `is longer than ${MOST_MEBIBYTES} MiB`));
  for await (const bytes of lines) {
    number++;
    const text = decode(decoder, bytes, () => problem(name, number, 'is not UTF-8 text'));
    if (text.trim() === '') {
      blank ??= number;
      continue;
    }
    if (blank !== null) throw problem(name, blank, 'is blank');
    const refuse = (reason: string) => problem(name, number, `is not JSON (${reason})`);
    yield { number, value: parse(text, { parseLine, refuse }) };
  }
}

async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  tooLong: () => DomainError,
): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let held = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...pieces, chunk.subarray(start, end)]);
      pieces = [];
      held = 0;
      start = end + 1;
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
    held += chunk.length - start;
    if (held > MOST_BYTES) throw tooLong();
  }
  if (pieces.length > 0) yield Buffer.concat(pieces);
}

function decode(decoder: TextDecoder, bytes: Buffer, refuse: () => DomainError): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw refuse();
  }
}

interface LineParsing {
  readonly parseLine: (text: string) => unknown;
  readonly refuse: (reason: string) => DomainError;
}

function parse(text: string, { parseLine, refuse }: LineParsing): unknown {
  try {
    return parseLine(text);
  } catch (error) {
    throw refuse(escapeControls(String(error).replace(/^SyntaxError: /, '')));
  }
}

function problem(name: string, number: number, what: string): DomainError {
  return new DomainError('bad-dataset', `${name}: line ${number} ${what}. Correct the line or remove it.`);
}
