/**
 * JSON that keeps `5.0` apart from `5`, which are one number in this language and two types in others.
 *
 * Lists and objects remember which of their entries were written so. What is copied through plain JSON forgets it;
 * `writeJson` writes it down.
 */

const WRITTEN_AS_FLOAT = Symbol('written as a float');
const MAY_HAVE_ANY = /[[:,\s]-?\d+\.0+\s*[,\]}]/;
const WHOLE_FLOAT = /^-?\d+\.0+$/;

type Place = readonly (string | number)[];

/** As `JSON.parse`, which is all it costs where no number is written as `5.0`. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!MAY_HAVE_ANY.test(text)) return value;
  for (const place of new FloatScan(text).places()) mark(value, place);
  return value;
}

/** Whether an entry of a list or object was written as `5.0`. */
export function isWrittenAsFloat(holder: object, key: string): boolean {
  const marked: unknown = Reflect.get(holder, WRITTEN_AS_FLOAT);
  return marked instanceof Set && marked.has(key);
}

/** JSON text on one line, in which what was written as `5.0` still is. */
export function writeJson(value: unknown): string {
  return writeEntry(value, false);
}

function writeEntry(value: unknown, isFloat: boolean): string {
  if (isFloat && typeof value === 'number') return `${value}.0`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(
    ([key, each]) => [key, writeEntry(each, isWrittenAsFloat(value, key))] as const,
  );
  if (Array.isArray(value)) return `[${entries.map(([, each]) => each).join(',')}]`;
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${each}`).join(',')}}`;
}

function mark(value: unknown, place: Place): void {
  const key = place.at(-1);
  const holder = place.slice(0, -1).reduce(entryOf, value);
  if (typeof holder !== 'object' || holder === null || key === undefined) return;
  const marked: unknown = Reflect.get(holder, WRITTEN_AS_FLOAT);
  if (marked instanceof Set) marked.add(String(key));
  else Object.defineProperty(holder, WRITTEN_AS_FLOAT, { value: new Set([String(key)]) });
}

function entryOf(holder: unknown, key: string | number): unknown {
  return typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : undefined;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

/** Finds numbers written as `5.0` in text that is known to be JSON. */
class FloatScan {
  private readonly stack: (string | number)[] = [];

  constructor(private readonly text: string) {}

  *places(): Generator<Place> {
    let before = '';
    for (const [token] of this.text.matchAll(TOKEN)) {
      if (token === '[') this.stack.push(0);
      else if (token === '{') this.stack.push('');
      else if (token === ']' || token === '}') this.stack.pop();
      else if (token === ',') this.next();
      else if (token === ':') this.name(before);
      else if (WHOLE_FLOAT.test(token)) yield [...this.stack];
      before = token;
    }
  }

  private next(): void {
    const last = this.stack.at(-1);
    if (typeof last === 'number') this.stack[this.stack.length - 1] = last + 1;
  }

  private name(token: string): void {
    const key: unknown = JSON.parse(token);
    if (typeof key === 'string') this.stack[this.stack.length - 1] = key;
  }
}
