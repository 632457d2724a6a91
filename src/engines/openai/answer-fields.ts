/** Reads of JSON that a server wrote and nobody vouches for. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Ten times the longest context on offer. */
const MOST_TOKENS = 100_000_000;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** null where the text is no JSON object. */
export function objectIn(text: string): JsonObject | null {
  const value = jsonIn(text);
  return isObject(value) ? value : null;
}

/** undefined where the text is no JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function objectAt(value: unknown, key: string): JsonObject | null {
  const inner = isObject(value) ? value[key] : null;
  return isObject(inner) ? inner : null;
}

export function textAt(value: unknown, key: string): string | null {
  const inner = isObject(value) ? value[key] : null;
  return typeof inner === 'string' ? inner : null;
}

export function countAt(value: unknown, key: string): number | null {
  const inner = isObject(value) ? value[key] : null;
  return typeof inner === 'number' && Number.isFinite(inner) && inner >= 0 ? inner : null;
}

/** Tokens of one completion: a number that no model can have written or read is none, so that no budget ends by it. */
export function tokenCountAt(value: unknown, key: string): number | null {
  const count = countAt(value, key);
  return count !== null && Number.isInteger(count) && count <= MOST_TOKENS ? count : null;
}

export function listAt(value: unknown, key: string): readonly unknown[] {
  const inner: unknown = isObject(value) ? value[key] : null;
  return Array.isArray(inner) ? inner : [];
}

/** null where a value is nested too deeply to be written. */
export function jsonTextOf(value: object): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}
