import { floatText } from '../../core/python-float';
import * as ends from '../../core/strip-ends';
import { TemplateError } from './template-error';
import { addRewritten, TextWriter } from './text-writer';
import { Tuple, UnwritableMap, isList, isMap } from './values';
import type { Value } from './values';

/** `str(value)`. */
export function textOf(value: Value): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  return reprOf(value);
}

/** `repr(value)`. */
export function reprOf(value: Value): string {
  const out = new TextWriter();
  addRepr(out, value);
  return out.text();
}

function addRepr(out: TextWriter, value: Value): void {
  if (typeof value === 'string') addQuoted(out, value);
  else if (isList(value)) addList(out, value);
  else if (isMap(value)) addMap(out, value);
  else out.add(scalarText(value));
}

function scalarText(value: Value): string {
  if (typeof value === 'number') return floatText(value);
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (value === null) return 'None';
  if (value === undefined) return 'Undefined';
  if (typeof value === 'bigint') return value.toString();
  throw new TemplateError('a function, a namespace or a loop cannot be written as text');
}

function addMap(out: TextWriter, map: ReadonlyMap<Value, Value>): void {
  if (map instanceof UnwritableMap) {
    throw new TemplateError('the arguments of a call are written as text here');
  }
  let between = '';
  out.add('{');
  for (const [key, item] of map) {
    out.add(between);
    addRepr(out, key);
    out.add(': ');
    addRepr(out, item);
    between = ', ';
  }
  out.add('}');
}

function addList(out: TextWriter, items: readonly Value[]): void {
  const isTuple = items instanceof Tuple;
  out.add(isTuple ? '(' : '[');
  items.forEach((item, index) => {
    if (index > 0) out.add(', ');
    addRepr(out, item);
  });
  if (isTuple && items.length === 1) out.add(',');
  out.add(isTuple ? ')' : ']');
}

const ESCAPES = new Map([
  ['\\', '\\\\'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);
const UNPRINTABLE = /[\\\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}]/gu;

function addQuoted(out: TextWriter, text: string): void {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  out.add(quote);
  addRewritten(out, text, (slice) => {
    const escaped = slice.replace(UNPRINTABLE, escapedCharacter);
    return quote === "'" ? escaped.replaceAll("'", "\\'") : escaped;
  });
  out.add(quote);
}

function escapedCharacter(character: string): string {
  const known = ESCAPES.get(character);
  if (known !== undefined || character === ' ') return known ?? character;
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/** What Python takes for space; a byte order mark is none, and some control characters are. */
export const SPACES =
  '\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000';

export function stripStart(text: string, characters: string = SPACES): string {
  return ends.stripStart(text, characters);
}

export function stripEnd(text: string, characters: string = SPACES): string {
  return ends.stripEnd(text, characters);
}

export function strip(text: string, characters: string = SPACES): string {
  return ends.stripEnds(text, characters);
}
