/**
 * What JSON text may say that its value does not show: two members of one name, of which the last stays, halves of characters, and
 * members that stand for the prototype of objects.
 */

import type { Steps } from './concurrency/steps';

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g;
const BEFORE_COLON = '":';
const SPACED_COLON = /"\s+:/;
/** An escape that is one half of a character beyond the first 65,536. */
const HALF = /\\u[dD][89a-fA-F][0-9a-fA-F]{2}/;
const LONE = /\p{Surrogate}/u;
/** Any character may be escaped. */
const PROTOTYPE = /"(?:__proto__|constructor)"|\\u00/i;
const LONGEST_PROTOTYPE = '"constructor"'.length;
const CHARACTERS_AT_ONCE = 4_000_000;
const ITEMS_AT_ONCE = 100_000;

/** A key that an object of this text has twice; null where there is none. `value`: what the text was parsed to. */
export function repeatedKey(text: string, value: unknown): string | null {
  // Each key of the text is followed by a colon: where there are no more colons than keys in the value, none was lost.
  const mayRepeat = SPACED_COLON.test(text) || countOf(text, BEFORE_COLON) !== keyCount(value);
  return mayRepeat ? findRepeated(text) : null;
}

function findRepeated(text: string): string | null {
  /** Keys of the objects that are open, the outermost first; null for arrays. */
  const open: (Set<string> | null)[] = [];
  let before = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':' && !takes(open.at(-1), before)) return String(JSON.parse(before));
    before = token;
  }
  return null;
}

/** False where the key, as it is written, is among them already. */
function takes(keys: Set<string> | null | undefined, written: string): boolean {
  const key = String(JSON.parse(written));
  if (keys?.has(key)) return false;
  keys?.add(key);
  return true;
}

/**
 * Where a text of the value has half of a character, which no tokenizer and no file in UTF-8 can hold: a path such as
 * `messages[0].content`, empty for the value itself. null where there is none.
 */
export function halfCharacterAt(text: string, value: unknown): string | null {
  return HALF.test(text) && holdsHalfCharacter(value) ? pathOfHalf(value) : null;
}

interface Placed {
  readonly item: unknown;
  readonly path: string;
}

function pathOfHalf(value: unknown): string {
  const waiting: Placed[] = [{ item: value, path: '' }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { item, path } = next;
    if (typeof item === 'string' && LONE.test(item)) return path;
    if (typeof item !== 'object' || item === null) continue;
    if (Object.keys(item).some((key) => LONE.test(key))) return path;
    for (const member of membersOf(item, path)) waiting.push(member);
  }
  return '';
}

function membersOf(item: object, path: string): Placed[] {
  return Object.entries<unknown>({ ...item }).map(([key, inner]) => {
    if (Array.isArray(item)) return { item: inner, path: `${path}[${key}]` };
    return { item: inner, path: path === '' ? key : `${path}.${key}` };
  });
}

/** The same of a value whose text is gone. */
export function holdsHalfCharacter(value: unknown): boolean {
  for (const item of everyItem(value)) if (typeof item === 'string' && LONE.test(item)) return true;
  return false;
}

/** Whether a copy of the value, made member by member, would change the prototype of an object. */
export function* reachingPrototype(text: string, value: unknown): Steps<boolean> {
  if (!(yield* mayReachPrototype(text))) return false;
  let count = 0;
  for (const item of everyItem(value)) {
    if (++count % ITEMS_AT_ONCE === 0) yield;
    if (typeof item === 'object' && item !== null && changesPrototype(item)) return true;
  }
  return false;
}

function* mayReachPrototype(text: string): Steps<boolean> {
  for (let at = 0; at < text.length; at += CHARACTERS_AT_ONCE) {
    if (PROTOTYPE.test(text.slice(at, at + CHARACTERS_AT_ONCE + LONGEST_PROTOTYPE))) return true;
    yield;
  }
  return false;
}

function changesPrototype(item: object): boolean {
  if (Object.hasOwn(item, '__proto__')) return true;
  const maker: unknown = Object.hasOwn(item, 'constructor') ? item.constructor : null;
  return typeof maker === 'object' && maker !== null && Object.hasOwn(maker, 'prototype');
}

function countOf(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

function keyCount(value: unknown): number {
  let count = 0;
  for (const item of everyItem(value)) {
    if (typeof item === 'object' && item !== null && !Array.isArray(item)) count += Object.keys(item).length;
  }
  return count;
}

/** The value and all texts, lists and objects that are in it, keys too. Values can be nested deeper than calls can. */
function* everyItem(value: unknown): Generator {
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const item = waiting.pop();
    yield item;
    if (typeof item !== 'object' || item === null) continue;
    if (!Array.isArray(item)) yield* Object.keys(item);
    const members: readonly unknown[] = Array.isArray(item) ? item : Object.values(item);
    for (const inner of members) {
      if (typeof inner === 'string' || typeof inner === 'object') waiting.push(inner);
    }
  }
}
