import { characterCount, sliceOfCharacters } from './characters';
import type { JsonLayout } from './json';
import { toJson } from './json';
import type { Filter } from './list-filters';
import { keyOf, LIST_FILTERS } from './list-filters';
import { lowered, madeNumber, makeItems, makeText, raised, repeatedText, wholeOf } from './made-values';
import { formatted } from './operators';
import { strip, textOf } from './python-text';
import { TemplateError } from './template-error';
import { capitalized, partsOf, replaced } from './text-methods';
import { joinedTexts, replacedEach, rewritten, TextWriter } from './text-writer';
import { withoutTags } from './without-tags';
import { integerOf, isMap, isTrue, itemsOf, numberOf, pairsOf, Tuple, typeName } from './values';
import type { Keywords, Value } from './values';

/** An integer of more digits is none, as in Python. */
const MOST_DIGITS = 4300;

const FILTERS = new Map<string, Filter>([
  ...LIST_FILTERS,
  ['map', mapped],
  ['tojson', (value, positional, keywords) => toJson(value, layoutOf(positional, keywords))],
  ['default', withDefault],
  ['d', withDefault],
  ['string', (value) => textOf(value)],
  ['safe', (value) => textOf(value)],
  ['trim', (value, [set], keywords) => trimmed(value, set ?? keywords.get('chars'))],
  ['upper', (value) => raised(textOf(value))],
  ['lower', (value) => lowered(textOf(value))],
  ['capitalize', (value) => capitalized(textOf(value))],
  ['title', (value) => titled(textOf(value))],
  [
    'replace',
    (value, [from, to, count], keywords) =>
      replaced(textOf(value), [textOf(from), textOf(to), count ?? keywords.get('count')]),
  ],
  ['items', itemsFilter],
  ['abs', absolute],
  ['int', toInteger],
  ['float', toFloat],
  ['round', rounded],
  ['indent', indented],
  ['format', (value, positional) => formatted(textOf(value), Tuple.from(positional))],
  ['escape', (value) => escaped(textOf(value))],
  ['e', (value) => escaped(textOf(value))],
  ['forceescape', (value) => escaped(textOf(value))],
  ['center', centered],
  ['truncate', truncated],
  ['wordcount', wordCount],
  ['striptags', (value) => replacedEach(strip(withoutTags(textOf(value))), /\s+/g, () => ' ')],
  ['urlencode', (value) => rewritten(textOf(value), urlEncoded)],
]);

export function findFilter(name: string): Filter {
  const filter = FILTERS.get(name);
  if (filter) return filter;
  throw new TemplateError(`No filter named '${name}'.`);
}

function mapped(value: Value, [name, ...rest]: readonly Value[], keywords: Keywords): Value {
  const attribute = keywords.get('attribute');
  const items = itemsOf(value);
  makeItems(items.length);
  if (name === undefined) {
    const fallback = keywords.get('default');
    return Array.from(items, (item) => keyOf(item, attribute) ?? fallback);
  }
  const filter = findFilter(textOf(name));
  return Array.from(items, (item) => filter(wholeOf(item), rest, keywords));
}

function wordCount(value: Value): bigint {
  const words = textOf(value).matchAll(/[\p{L}\p{N}_]+/gu);
  let count = 0n;
  while (!words.next().done) count++;
  return count;
}

function urlEncoded(text: string): string {
  return encodeURIComponent(text)
    .replaceAll('%2F', '/')
    .replace(/[!'()*]/g, percent);
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** As transformers has it: not escaped for HTML, and letters stand as they are. */
function layoutOf(positional: readonly Value[], keywords: Keywords): JsonLayout {
  const given = (index: number, name: string) => positional[index] ?? keywords.get(name) ?? null;
  const indent = given(1, 'indent');
  const separators = given(2, 'separators');
  const [itemSeparator = indent === null ? ', ' : ',', keySeparator = ': '] = Array.isArray(separators)
    ? separators.map((one: Value) => textOf(one))
    : [];
  return {
    indent: indent === null ? null : integerOf(indent, 'indent'),
    itemSeparator,
    keySeparator,
    sortsKeys: isTrue(given(3, 'sort_keys')),
    isAscii: isTrue(given(0, 'ensure_ascii')),
  };
}

function withDefault(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  const fallback = positional[0] ?? keywords.get('default_value') ?? '';
  const isForFalse = isTrue(positional[1] ?? keywords.get('boolean'));
  return value === undefined || (isForFalse && !isTrue(value)) ? given(positional, fallback) : value;
}

/** `None` is a default like others. */
function given(positional: readonly Value[], fallback: Value): Value {
  return positional.length > 0 ? positional[0] : fallback;
}

function trimmed(value: Value, set: Value): string {
  const text = textOf(value);
  return set === undefined || set === null ? strip(text) : strip(text, textOf(set));
}

function titled(text: string): string {
  return replacedEach(text, /[^-\s({[<]+/g, ([word]) => capitalized(word));
}

function itemsFilter(value: Value): Value {
  if (value === undefined) return [];
  if (isMap(value)) return pairsOf(value);
  throw new TemplateError('Can only get item pairs from a mapping.');
}

function absolute(value: Value): Value {
  const number = numberOf(value);
  if (number === null) throw new TemplateError(`bad operand type for abs(): '${typeName(value)}'`);
  return madeNumber(number < 0 ? -number : number);
}

function toInteger(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  const base = integerOf(positional[1] ?? keywords.get('base') ?? 10n, 'base');
  return integerIn(value, base) ?? positional[0] ?? keywords.get('default') ?? 0n;
}

function integerIn(value: Value, base: number): bigint | null {
  if (typeof value === 'string') {
    const text = strip(value).replaceAll('_', '');
    if (base !== 10) return integerOfBase(text.replace(/^0[xob]/i, ''), base);
    if (text.length <= MOST_DIGITS && /^[-+]?\d+$/.test(text)) return BigInt(text.replace(/^\+/, ''));
  }
  const number = floatOf(value);
  return number === null || !Number.isFinite(number) ? null : integerPart(value, number);
}

function integerOfBase(text: string, base: number): bigint | null {
  const read = Number.parseInt(text, base);
  return Number.isFinite(read) ? BigInt(read) : null;
}

function integerPart(value: Value, number: number): bigint {
  return typeof value === 'bigint' ? value : BigInt(Math.trunc(number));
}

function floatOf(value: Value): number | null {
  if (typeof value !== 'string') {
    const number = numberOf(value);
    return number === null ? null : Number(number);
  }
  const text = strip(value).toLowerCase();
  const special = /^([-+]?)(inf(?:inity)?|nan)$/.exec(text);
  if (special) {
    if (special[2] === 'nan') return Number.NaN;
    return special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  return isNumeral(text) ? Number(text) : null;
}

/** `Number` reads further forms. A pattern of the whole would run out of stack on millions of digits. */
function isNumeral(text: string): boolean {
  return /\d/.test(text) && !/[^\d.e+-]/.test(text) && !Number.isNaN(Number(text));
}

function toFloat(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  return floatOf(value) ?? positional[0] ?? keywords.get('default') ?? 0;
}

function rounded(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  const number = numberOf(value);
  if (number === null) throw new TemplateError(`type ${typeName(value)} doesn't define __round__ method`);
  const places = integerOf(positional[0] ?? keywords.get('precision') ?? 0n, 'precision');
  const method = textOf(positional[1] ?? keywords.get('method') ?? 'common');
  if (typeof number === 'bigint' && method === 'common') return number;
  const scale = 10 ** places;
  if (method === 'ceil') return Math.ceil(Number(number) * scale) / scale;
  if (method === 'floor') return Math.floor(Number(number) * scale) / scale;
  return halfToEven(Number(number), places);
}

/** Python rounds the exact value of the float, ties to even. */
function halfToEven(number: number, places: number): number {
  if (places < 0) {
    const scale = 10 ** -places;
    return halfToEven(number / scale, 0) * scale;
  }
  const scaled = number * 10 ** places;
  const isTie = Math.abs(scaled % 1) === 0.5 && places === 0;
  return isTie ? 2 * Math.round(scaled / 2) : Number(number.toFixed(places));
}

function indented(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  const width = positional[0] ?? keywords.get('width') ?? 4n;
  const pad = typeof width === 'string' ? width : repeatedText(' ', integerOf(width, 'width'));
  const isFirst = isTrue(positional[1] ?? keywords.get('first'));
  const isBlank = isTrue(positional[2] ?? keywords.get('blank'));
  const out = new TextWriter();
  let end = '';
  for (const line of partsOf(textOf(value), '\n')) {
    out.add(end);
    if (end === '' ? isFirst : line !== '' || isBlank) out.add(pad);
    out.add(line);
    end = '\n';
  }
  return out.text();
}

const ENTITIES = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ["'", '&#39;'],
  ['"', '&#34;'],
]);

function escaped(text: string): string {
  return rewritten(text, (slice) =>
    slice.replace(/[&<>'"]/g, (character) => ENTITIES.get(character) ?? character),
  );
}

function centered(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  const text = textOf(value);
  const width = integerOf(positional[0] ?? keywords.get('width') ?? 80n, 'width');
  const missing = Math.max(0, width - characterCount(text));
  const left = Math.floor(missing / 2) + (missing & width & 1);
  makeText(text.length + missing);
  return joinedTexts([repeatedText(' ', left), text, repeatedText(' ', missing - left)]);
}

function truncated(value: Value, positional: readonly Value[], keywords: Keywords): Value {
  const option = (index: number, name: string, fallback: Value) =>
    positional[index] ?? keywords.get(name) ?? fallback;
  const text = textOf(value);
  const count = characterCount(text);
  const length = integerOf(option(0, 'length', 255n), 'length');
  const end = textOf(option(2, 'end', '...'));
  if (count <= length + integerOf(option(3, 'leeway', 5n), 'leeway')) return text;
  const last = length - characterCount(end);
  const cut = sliceOfCharacters(text, 0, last < 0 ? Math.max(0, last + count) : last);
  const space = isTrue(option(1, 'killwords', false)) ? -1 : cut.lastIndexOf(' ');
  return joinedTexts([space < 0 ? cut : cut.slice(0, space), end]);
}
