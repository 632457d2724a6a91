import { joinedTexts, makeText, repeatedText } from './made-values';
import { SPACES, strip, stripEnd, stripStart, textOf } from './python-text';
import { Callable, charactersOf, integerOf, isList, itemsOf, TemplateError, Tuple, typeName } from './values';
import type { Keywords, Value } from './values';

type Method = (text: string, positional: readonly Value[], keywords: Keywords) => Value;

const METHODS = new Map<string, Method>([
  ['strip', (text, [set]) => strip(text, charactersIn(set))],
  ['lstrip', (text, [set]) => stripStart(text, charactersIn(set))],
  ['rstrip', (text, [set]) => stripEnd(text, charactersIn(set))],
  ['upper', (text) => text.toUpperCase()],
  ['lower', (text) => text.toLowerCase()],
  ['casefold', (text) => text.toLowerCase()],
  ['title', (text) => titleCase(text)],
  ['capitalize', (text) => capitalized(text)],
  [
    'swapcase',
    (text) =>
      text.replace(/\p{L}/gu, (one) => (one === one.toUpperCase() ? one.toLowerCase() : one.toUpperCase())),
  ],
  ['startswith', (text, [part]) => someOf(part, (one) => text.startsWith(one))],
  ['endswith', (text, [part]) => someOf(part, (one) => text.endsWith(one))],
  [
    'removeprefix',
    (text, [part]) => (text.startsWith(wordOf(part)) ? text.slice(wordOf(part).length) : text),
  ],
  ['removesuffix', (text, [part]) => withoutSuffix(text, wordOf(part))],
  [
    'split',
    (text, [separator, most], keywords) =>
      split(text, separator ?? keywords.get('sep'), most ?? keywords.get('maxsplit')),
  ],
  [
    'rsplit',
    (text, [separator, most], keywords) =>
      splitFromEnd(text, separator ?? keywords.get('sep'), most ?? keywords.get('maxsplit')),
  ],
  ['splitlines', (text) => splitLines(text)],
  ['partition', (text, [separator]) => partition(text, wordOf(separator), text.indexOf(wordOf(separator)))],
  ['rpartition', (text, [separator]) => partitionAtEnd(text, wordOf(separator))],
  [
    'replace',
    (text, [from, to, count], keywords) => replaced(text, [from, to, count ?? keywords.get('count')]),
  ],
  ['join', (text, [items]) => joinedTexts(itemsOf(items).map(wordOf), text)],
  ['find', (text, [part]) => positionIn(text, text.indexOf(wordOf(part)))],
  ['rfind', (text, [part]) => positionIn(text, text.lastIndexOf(wordOf(part)))],
  ['index', (text, [part]) => existing(positionIn(text, text.indexOf(wordOf(part))))],
  [
    'count',
    (text, [part]) =>
      BigInt(wordOf(part) === '' ? charactersOf(text).length + 1 : text.split(wordOf(part)).length - 1),
  ],
  ['isdigit', (text) => /^\p{Nd}+$/u.test(text)],
  ['isdecimal', (text) => /^\p{Nd}+$/u.test(text)],
  ['isnumeric', (text) => /^\p{N}+$/u.test(text)],
  ['isalpha', (text) => /^\p{L}+$/u.test(text)],
  ['isalnum', (text) => /^[\p{L}\p{N}]+$/u.test(text)],
  ['isspace', (text) => text !== '' && strip(text) === ''],
  ['isupper', (text) => text === text.toUpperCase() && text !== text.toLowerCase()],
  ['islower', (text) => text === text.toLowerCase() && text !== text.toUpperCase()],
  ['ljust', (text, [width, fill]) => text + padding(text, width, fill)],
  ['rjust', (text, [width, fill]) => padding(text, width, fill) + text],
  ['zfill', (text, [width]) => zeroFilled(text, integerOf(width, 'a width'))],
  ['format', (text, positional, keywords) => fields(text, positional, keywords)],
]);

/** A method of a text; undefined where Python has none of the name. */
export function textMethod(text: string, name: string): Value {
  const method = METHODS.get(name);
  return method && new Callable((positional, keywords) => method(text, positional, keywords));
}

function charactersIn(set: Value): string {
  return set === undefined || set === null ? SPACES : wordOf(set);
}

function wordOf(value: Value): string {
  if (typeof value === 'string') return value;
  throw new TemplateError(`expected a text, not ${typeName(value)}`);
}

function someOf(part: Value, test: (one: string) => boolean): boolean {
  return isList(part) ? part.some((one) => test(wordOf(one))) : test(wordOf(part));
}

function withoutSuffix(text: string, suffix: string): string {
  return suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
}

/** The first letter of each run of letters is large, the others are small. */
function titleCase(text: string): string {
  return text.replace(/\p{L}+/gu, (word) => capitalized(word));
}

export function capitalized(text: string): string {
  const [first = '', ...rest] = charactersOf(text);
  return first.toUpperCase() + rest.join('').toLowerCase();
}

function mostOf(most: Value): number {
  const count = most === undefined ? -1 : integerOf(most, 'maxsplit');
  return count < 0 ? Number.POSITIVE_INFINITY : count;
}

function split(text: string, separator: Value, most: Value): Value[] {
  const count = mostOf(most);
  if (separator === undefined || separator === null) return splitAtSpaces(text, count);
  const word = separatorOf(separator);
  const parts = text.split(word);
  return parts.length <= count ? parts : [...parts.slice(0, count), parts.slice(count).join(word)];
}

const SPACE = new RegExp(`[${SPACES}]`);

/** Runs of space part words; what is left after the last of `count` cuts keeps the space at its end. */
function splitAtSpaces(text: string, count: number): string[] {
  const parts: string[] = [];
  let rest = stripStart(text);
  while (rest !== '' && parts.length < count) {
    const at = rest.search(SPACE);
    parts.push(at < 0 ? rest : rest.slice(0, at));
    rest = at < 0 ? '' : stripStart(rest.slice(at));
  }
  return rest === '' ? parts : [...parts, rest];
}

function separatorOf(separator: Value): string {
  const word = wordOf(separator);
  if (word === '') throw new TemplateError('empty separator');
  return word;
}

function splitFromEnd(text: string, separator: Value, most: Value): Value[] {
  const reversed = (value: string) => charactersOf(value).toReversed().join('');
  const word = separator === undefined || separator === null ? separator : reversed(wordOf(separator));
  return split(reversed(text), word, most)
    .map((part) => reversed(textOf(part)))
    .toReversed();
}

function splitLines(text: string): Value[] {
  const lines = text.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

function partition(text: string, separator: string, at: number): Value {
  if (at < 0) return Tuple.of<Value>(text, '', '');
  return Tuple.of<Value>(text.slice(0, at), separator, text.slice(at + separator.length));
}

function partitionAtEnd(text: string, separator: string): Value {
  const at = text.lastIndexOf(separator);
  return at < 0 ? Tuple.of<Value>('', '', text) : partition(text, separator, at);
}

/** `text.replace(from, to, count)`; a count below zero is none. */
export function replaced(text: string, [from, to, count]: readonly Value[]): string {
  const [old, fresh] = [wordOf(from), wordOf(to)];
  const most = count === undefined || count === null ? -1 : integerOf(count, 'count');
  if (most < 0) return old === '' ? joined(charactersOf(text), fresh) : joinedTexts(text.split(old), fresh);
  const parts = old === '' ? ['', ...charactersOf(text), ''] : text.split(old);
  const separator = old;
  return parts.reduce(
    (written, part, index) => written + (index > 0 ? (index <= most ? fresh : separator) : '') + part,
    '',
  );
}

function joined(characters: readonly string[], between: string): string {
  return joinedTexts(['', ...characters, ''], between);
}

function positionIn(text: string, at: number): bigint {
  return at < 0 ? -1n : BigInt(charactersOf(text.slice(0, at)).length);
}

function existing(position: bigint): bigint {
  if (position >= 0n) return position;
  throw new TemplateError('substring not found');
}

function zeroFilled(text: string, width: number): string {
  makeText(Math.max(width, text.length));
  const sign = /^[-+]/.exec(text)?.[0] ?? '';
  return sign + text.slice(sign.length).padStart(width - sign.length, '0');
}

function padding(text: string, width: Value, fill: Value): string {
  const missing = integerOf(width, 'a width') - charactersOf(text).length;
  return repeatedText(fill === undefined ? ' ' : wordOf(fill), missing);
}

function fields(text: string, positional: readonly Value[], keywords: Keywords): string {
  let next = 0;
  return text.replace(/\{\{|\}\}|\{(\w*)\}/g, (whole: string, name?: string) => {
    if (name === undefined) return whole.slice(0, 1);
    if (name === '') return textOf(positional[next++]);
    return textOf(/^\d+$/.test(name) ? positional[Number(name)] : keywords.get(name));
  });
}
