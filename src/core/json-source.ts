import { parseJson, writeJson } from './whole-floats';

/**
 * JSON whose objects remember the text they were read from, where a value of this language would lose some of it: integers
 * beyond 2^53, `2.0`, `1e-05`, `1e999`, keys that are numbers, which move to the front.
 */

const MAY_LOSE = /\d{16}|\d\.\d|\d[eE]|-0|"\d+"\s*:/;
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/g;

const sources = new WeakMap<object, string>();

/** As `JSON.parse`, which is all it costs where nothing can be lost. */
export function parseJsonWithSource(text: string): unknown {
  const value = parseJson(text);
  if (MAY_LOSE.test(text))
    remember(
      value,
      [...text.matchAll(TOKEN)].map(([token]) => withCharacters(token)),
    );
  return value;
}

/** Escapes are how a file is written (`\u00e9`), and no part of what its texts say. */
function withCharacters(token: string): string {
  return token.startsWith('"') && token.includes('\\') ? JSON.stringify(JSON.parse(token)) : token;
}

/** Gives an object the text that it is written as. */
export function rememberSource(value: object, json: string): void {
  sources.set(value, json);
}

/** A copy that remembers what the object does. */
export function copyAsWritten(value: object): Readonly<Record<string, unknown>> {
  const copy = { ...value };
  const source = sources.get(value);
  if (source !== undefined) sources.set(copy, source);
  return copy;
}

/** JSON text without spaces; objects that remember theirs, at any depth, as they were written. */
export function jsonText(value: unknown): string {
  // In a list it is null; members that are undefined are left out.
  if (value === undefined) return 'null';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const source = sources.get(value);
  if (source !== undefined) return source;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  // A copied object has lost its marks, and its members have not.
  const members = Object.entries(value).filter(([, item]) => item !== undefined);
  return members.some(([, item]) => typeof item === 'object' && item !== null)
    ? `{${members.map(([key, item]) => `${JSON.stringify(key)}:${jsonText(item)}`).join(',')}}`
    : writeJson(value);
}

interface Open {
  readonly holder: unknown;
  /** Place in the text. */
  readonly start: number;
  key: string | number;
}

/** Walks tokens and values side by side. What is kept are parts of one text: each its own would be as many as it is deep. */
function remember(root: unknown, tokens: readonly string[]): void {
  const text = tokens.join('');
  const stack: Open[] = [{ holder: { root }, start: 0, key: 'root' }];
  let start = 0;
  tokens.forEach((token, index) => {
    const top = stack.at(-1);
    const end = start + token.length;
    if (top && (token === '{' || token === '[')) {
      stack.push({ holder: entryOf(top), start, key: token === '[' ? 0 : '' });
    } else if (top && (token === '}' || token === ']')) {
      stack.pop();
      keep(top.holder, text.slice(top.start, end));
    } else if (top) step(top, token, tokens[index - 1]);
    start = end;
  });
}

function keep(holder: unknown, text: string): void {
  if (typeof holder === 'object' && holder !== null) sources.set(holder, text);
}

/** On to the next entry. */
function step(open: Open, token: string, before = '""'): void {
  if (token === ':') open.key = String(JSON.parse(before));
  else if (token === ',' && typeof open.key === 'number') open.key++;
}

function entryOf({ holder, key }: Open): unknown {
  return typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : undefined;
}
