/**
 * JSON that keeps `5.0` apart from `5`, which are one number in this language and two types in others.
 *
 * Lists and objects remember which of their entries were written so. What is copied through plain JSON forgets it;
 * `writeJson` writes it down.
 */

const WRITTEN_AS_FLOAT = Symbol('written as a float');
const MAY_HAVE_ANY = /[[:,\s]-?\d+\.0+\s*[,\]}]/;
const WHOLE_FLOAT = /^-?\d+\.0+$/;

/** As `JSON.parse`, which is all it costs where no number is written as `5.0`. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!MAY_HAVE_ANY.test(text)) return value;
  new FloatScan(value).markAll(text);
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

function mark({ holder, key }: Place): void {
  if (typeof holder !== 'object' || holder === null) return;
  const marked: unknown = Reflect.get(holder, WRITTEN_AS_FLOAT);
  if (marked instanceof Set) marked.add(String(key));
  else Object.defineProperty(holder, WRITTEN_AS_FLOAT, { value: new Set([String(key)]) });
}

function entryOf({ holder, key }: Place): unknown {
  return typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : undefined;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g;

interface Place {
  readonly holder: unknown;
  key: string | number;
}

/** Finds numbers written as `5.0` in text that is known to be the JSON of a value, whose lists and objects it goes through beside it. */
class FloatScan {
  private readonly stack: Place[];

  constructor(value: unknown) {
    this.stack = [{ holder: { value }, key: 'value' }];
  }

  markAll(text: string): void {
    let before = '';
    for (const [token] of text.matchAll(TOKEN)) {
      const place = this.stack.at(-1);
      if (place) this.step(place, token, before);
      before = token;
    }
  }

  private step(place: Place, token: string, before: string): void {
    if (token === '[' || token === '{') {
      this.stack.push({ holder: entryOf(place), key: token === '[' ? 0 : '' });
    } else if (token === ']' || token === '}') this.stack.pop();
    else if (token === ',' && typeof place.key === 'number') place.key++;
    else if (token === ':') place.key = String(JSON.parse(before));
    else if (WHOLE_FLOAT.test(token)) mark(place);
  }
}
