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

/** Counts outside of strings. A text that is no JSON is counted as far as it goes. */
export function countJsonParts(text: string): JsonParts {
  let [parts, keys, depth, deepest] = [0, 0, 0, 0];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfJsonString(text, index);
    else if (code === CODE.key) keys++;
    else if (code === CODE.list || code === CODE.object) {
      parts++;
      deepest = Math.max(deepest, ++depth);
    } else if (code === CODE.listEnd || code === CODE.objectEnd) depth--;
  }
  return { parts, keys, depth: deepest };
}

/** Position of the quote that ends the string beginning at `start`; the text's length where none does. */
export function endOfJsonString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text.charCodeAt(index) !== QUOTE) {
    index += text.charCodeAt(index) === BACKSLASH ? 2 : 1;
  }
  return index;
}
