import * as ends from '../../core/strip-ends';
import { characterCount, sliceOfCharacters } from './characters';
import { chained, collected, lowered, makeText, raised, repeatedText } from './made-values';
import { SPACES, strip, stripEnd, stripStart, textOf } from './python-text';
import { TemplateError } from './template-error';
import { joinedTexts, replacedEach, TextWriter } from './text-writer';
import { Callable, integerOf, isList, itemsOf, Tuple, typeName } from './values';
import type { Keywords, Value } from './values';

type Method = (text: string, positional: readonly Value[], keywords: Keywords) => Value;

const METHODS = new Map<string, Method>([
  ['strip', (text, [set]) => strip(text, charactersIn(set))],
  ['lstrip', (text, [set]) => stripStart(text, charactersIn(set))],
  ['rstrip', (text, [set]) => stripEnd(text, charactersIn(set))],
  ['upper', raised],
  ['lower', lowered],
  ['casefold', lowered],
  ['title', titleCase],
  ['capitalize', capitalized],
  [
    'swapcase',
    (text) =>
      replacedEach(text, /\p{L}/gu, ([one]) =>
        one === one.toUpperCase() ? one.toLowerCase() : one.toUpperCase(),
      ),
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
  ['splitlines', (text) => collected(linesOf(text))],
  ['partition', (text, [separator]) => partition(text, wordOf(separator), text.indexOf(wordOf(separator)))],
  ['rpartition', (text, [separator]) => partitionAtEnd(text, wordOf(separator))],
  [
    'replace',
    (text, [from, to, count], keywords) => replaced(text, [from, to, count ?? keywords.get('count')]),
  ],
  ['join', (text, [items]) => joinedItems(itemsOf(items), text)],
  ['find', (text, [part]) => positionIn(text, text.indexOf(wordOf(part)))],
  ['rfind', (text, [part]) => positionIn(text, text.lastIndexOf(wordOf(part)))],
  ['index', (text, [part]) => existing(positionIn(text, text.indexOf(wordOf(part))))],
  [
    'count',
    (text, [part]) =>
      BigInt(wordOf(part) === '' ? characterCount(text) + 1 : occurrencesIn(text, wordOf(part))),
  ],
  ['isdigit', (text) => /^\p{Nd}+$/u.test(text)],
  ['isdecimal', (text) => /^\p{Nd}+$/u.test(text)],
  ['isnumeric', (text) => /^\p{N}+$/u.test(text)],
  ['isalpha', (text) => /^\p{L}+$/u.test(text)],
  ['isalnum', (text) => /^[\p{L}\p{N}]+$/u.test(text)],
  ['isspace', (text) => text !== '' && strip(text) === ''],
  ['isupper', (text) => text === raised(text) && text !== lowered(text)],
  ['islower', (text) => text === lowered(text) && text !== raised(text)],
  ['ljust', (text, [width, fill]) => chained([text, padding(text, width, fill)])],
  ['rjust', (text, [width, fill]) => chained([padding(text, width, fill), text])],
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
  return replacedEach(text, /\p{L}+/gu, ([word]) => capitalized(word));
}

export function capitalized(text: string): string {
  const first = sliceOfCharacters(text, 0, 1);
  return chained([first.toUpperCase(), lowered(text.slice(first.length))]);
}

function mostOf(most: Value): number {
  const count = most === undefined ? -1 : integerOf(most, 'maxsplit');
  return count < 0 ? Number.POSITIVE_INFINITY : count;
}

function split(text: string, separator: Value, most: Value): Value[] {
  const count = mostOf(most);
  if (separator === undefined || separator === null) return collected(wordsOf(text, count));
  return collected(partsOf(text, separatorOf(separator), count));
}

/** What is left after the last of `most` cuts is one part. */
export function* partsOf(
  text: string,
  separator: string,
  most = Number.POSITIVE_INFINITY,
): Generator<string> {
  let position = 0;
  for (let cuts = 0; cuts < most; cuts++) {
    const at = text.indexOf(separator, position);
    if (at < 0) break;
    yield text.slice(position, at);
    position = at + separator.length;
  }
  yield text.slice(position);
}

const SPACE = new RegExp(`[${SPACES}]`);

/** Runs of space part words; what is left after the last of `most` cuts keeps the space at its end. */
function* wordsOf(text: string, most: number): Generator<string> {
  let rest = stripStart(text);
  for (let cuts = 0; cuts < most && rest !== ''; cuts++) {
    const at = rest.search(SPACE);
    yield at < 0 ? rest : rest.slice(0, at);
    rest = at < 0 ? '' : stripStart(rest.slice(at));
  }
  if (rest !== '') yield rest;
}

function separatorOf(separator: Value): string {
  const word = wordOf(separator);
  if (word === '') throw new TemplateError('empty separator');
  return word;
}

function splitFromEnd(text: string, separator: Value, most: Value): Value[] {
  const count = mostOf(most);
  const parts =
    separator === undefined || separator === null
      ? wordsFromEnd(text, count)
      : partsFromEnd(text, separatorOf(separator), count);
  return collected(parts).toReversed();
}

function* partsFromEnd(text: string, separator: string, most: number): Generator<string> {
  let rest = text;
  for (let cuts = 0; cuts < most; cuts++) {
    const at = rest.lastIndexOf(separator);
    if (at < 0) break;
    yield rest.slice(at + separator.length);
    rest = rest.slice(0, at);
  }
  yield rest;
}

function* wordsFromEnd(text: string, most: number): Generator<string> {
  let rest = stripEnd(text);
  for (let cuts = 0; cuts < most && rest !== ''; cuts++) {
    const others = ends.stripEnd(rest, (character) => !SPACES.includes(character));
    yield rest.slice(others.length);
    rest = stripEnd(others);
  }
  if (rest !== '') yield rest;
}

const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;

/** No line follows the last line end. */
function* linesOf(text: string): Generator<string> {
  let position = 0;
  for (const { 0: end, index } of text.matchAll(LINE_END)) {
    yield text.slice(position, index);
    position = index + end.length;
  }
  if (position < text.length) yield text.slice(position);
}

function occurrencesIn(text: string, word: string): number {
  let count = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) count++;
  return count;
}

function joinedItems(items: readonly Value[], between: string): string {
  const out = new TextWriter();
  items.forEach((item, index) => {
    if (index > 0) out.add(between);
    out.add(wordOf(item));
  });
  return out.text();
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
  const given = count === undefined || count === null ? -1 : integerOf(count, 'count');
  const most = given < 0 ? Number.POSITIVE_INFINITY : given;
  return old === '' ? interleaved(text, fresh, most) : joinedTexts(partsOf(text, old, most), fresh);
}

/** Before each of the first characters, and behind the last where that is one of so many places. */
function interleaved(text: string, fresh: string, most: number): string {
  const out = new TextWriter();
  let places = 0;
  for (const character of text) {
    if (places++ < most) out.add(fresh);
    out.add(character);
  }
  if (places < most) out.add(fresh);
  return out.text();
}

function positionIn(text: string, at: number): bigint {
  return at < 0 ? -1n : BigInt(characterCount(text.slice(0, at)));
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
  const missing = integerOf(width, 'a width') - characterCount(text);
  return repeatedText(fill === undefined ? ' ' : wordOf(fill), missing);
}

function fields(text: string, positional: readonly Value[], keywords: Keywords): string {
  let next = 0;
  return replacedEach(text, /\{\{|\}\}|\{(\w*)\}/g, ([whole, name]) => {
    if (name === undefined) return whole.slice(0, 1);
    if (name === '') return textOf(positional[next++]);
    return textOf(/^\d+$/.test(name) ? positional[Number(name)] : keywords.get(name));
  });
}
