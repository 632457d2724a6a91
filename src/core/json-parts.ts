import type { Steps } from './concurrency/steps';
import { finish } from './concurrency/steps';

/** What a JSON text would become, counted without parsing it: a list or an object takes up to thirty times its text. */
export interface JsonParts {
  /** Lists and objects. */
  readonly parts: number;
  /** Keys of objects. */
  readonly keys: number;
  /** Lists and objects around the innermost one, itself included. */
  readonly depth: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CODE = { list: 0x5b, listEnd: 0x5d, object: 0x7b, objectEnd: 0x7d, key: 0x3a } as const;

/** Characters that are counted at once. */
const PIECE = 4_000_000;

/** Counts outside of strings. A text that is no JSON is counted as far as it goes. */
export function countJsonParts(text: string): JsonParts {
  return finish(countingJsonParts(text));
}

/** The same, a piece of the text at a time. */
export function* countingJsonParts(text: string, piece = PIECE): Steps<JsonParts> {
  const counter = new PartsCounter(text);
  while (counter.at < text.length) {
    counter.goOnTo(Math.min(counter.at + piece, text.length));
    yield;
  }
  return { parts: counter.parts, keys: counter.keys, depth: counter.deepest };
}

class PartsCounter {
  at = 0;
  parts = 0;
  keys = 0;
  deepest = 0;
  private depth = 0;

  constructor(private readonly text: string) {}

  /** Or a little further: a string is not left half counted. */
  goOnTo(end: number): void {
    const { text } = this;
    let { at, parts, keys, depth, deepest } = this;
    for (; at < end; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) at = endOfJsonString(text, at);
      else if (code === CODE.key) keys++;
      else if (code === CODE.list || code === CODE.object) {
        parts++;
        deepest = Math.max(deepest, ++depth);
      } else if (code === CODE.listEnd || code === CODE.objectEnd) depth--;
    }
    Object.assign(this, { at, parts, keys, depth, deepest });
  }
}

/** Position of the quote that ends the string beginning at `start`; the text's length where none does. */
export function endOfJsonString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text.charCodeAt(index) !== QUOTE) {
    index += text.charCodeAt(index) === BACKSLASH ? 2 : 1;
  }
  return index;
}
