import { LiteralError } from './literal-error';
import type { TextCursor } from './text-cursor';

const OPENING = /[rRbBuUfF]{0,2}(?:"""|'''|"|')/y;
const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  '0': '\0',
  '\n': '',
};

/** The text that begins here as Python writes it, with those beside it; null where none does. */
export function readTexts(cursor: TextCursor): string | null {
  const first = readText(cursor);
  if (first === null) return null;
  const texts = [first];
  for (;;) {
    cursor.skipSpace();
    const next = readText(cursor);
    if (next === null) return texts.join('');
    texts.push(next);
  }
}

function readText(cursor: TextCursor): string | null {
  const opening = cursor.match(OPENING);
  if (opening === undefined) return null;
  const quote = opening.replace(/^[a-z]+/i, '');
  const prefix = opening.slice(0, -quote.length);
  if (/[fb]/i.test(prefix)) throw new LiteralError('a text of another kind');
  const value = readCharacters(cursor, quote, /r/i.test(prefix));
  cursor.position += quote.length;
  return value;
}

function readCharacters(cursor: TextCursor, quote: string, isRaw: boolean): string {
  let value = '';
  while (!cursor.text.startsWith(quote, cursor.position)) {
    const character = cursor.text[cursor.position];
    if (character === undefined || (character === '\n' && quote.length === 1))
      throw new LiteralError('a text without end');
    value += character === '\\' && !isRaw ? readEscape(cursor) : character;
    cursor.position += 1;
  }
  return value;
}

/** Leaves the place at the last character of the escape. */
function readEscape(cursor: TextCursor): string {
  cursor.position += 1;
  const mark = cursor.text[cursor.position] ?? '';
  const length = { x: 2, u: 4, U: 8 }[mark];
  if (length === undefined) return ESCAPES[mark] ?? (/["'\\/]/.test(mark) ? mark : `\\${mark}`);
  const digits = cursor.text.slice(cursor.position + 1, cursor.position + 1 + length);
  if (!/^[\da-f]+$/i.test(digits) || digits.length < length) throw new LiteralError('a broken escape');
  cursor.position += length;
  const code = Number.parseInt(digits, 16);
  return code > 0x10ffff ? '\uFFFD' : length === 8 ? String.fromCodePoint(code) : String.fromCharCode(code);
}
