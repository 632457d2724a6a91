/** Narrowing of parsed JSON from elsewhere: each reader returns the value or throws a protocol error naming it. */
import { malformed } from './bytes';

export type JsonObject = Readonly<Record<string, unknown>>;

export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed(`${what} is not JSON: ${text.slice(0, 200)}`, error);
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectFrom(value: unknown, what: string): JsonObject {
  if (isObject(value)) return value;
  throw malformed(`${what} is not an object`);
}

export function arrayFrom(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw malformed(`${what} is not a list`);
}

export function stringFrom(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw malformed(`${what} is not a text`);
}

export function numberFrom(value: unknown, what: string): number {
  if (typeof value === 'number') return value;
  throw malformed(`${what} is not a number`);
}

export function integerFrom(value: unknown, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw malformed(`${what} is not a whole number`);
}

/** JSON has no NaN or infinity: senders write null. */
export function numberOrNaNFrom(value: unknown, what: string): number {
  return value === null ? Number.NaN : numberFrom(value, what);
}

export function numberRecordFrom(value: unknown, what: string): Record<string, number> {
  if (value == null) return {};
  return Object.fromEntries(
    Object.entries(objectFrom(value, what)).map(([name, number]) => [
      name,
      numberFrom(number, `${what}.${name}`),
    ]),
  );
}

/** Token ids, each a whole number of at most 31 bits. There are millions of them: `Int32Array.from` takes twenty times as long. */
export function tokensFrom(value: unknown, what: string): Int32Array {
  const items = arrayFrom(value, what);
  const tokens = new Int32Array(items.length);
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    if (typeof item !== 'number' || (item | 0) !== item)
      throw malformed(`${what}[${index}] is not a token id`);
    tokens[index] = item;
  }
  return tokens;
}
