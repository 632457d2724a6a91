import { DEEPEST_JSON, isDeeperThan, TOO_DEEP } from '../core/json-depth';
import { repeatedKey } from '../core/json-flaws';
import { parseJsonWithSource } from '../core/json-source';
import type { Fields } from './kind-of';
import { NotJson, notJsonIn } from './not-json';
import { RowProblem } from './row-problem';

/** Tables that have no lists hold them as JSON text. */
export function listIn(value: unknown, field: string): unknown {
  const list = typeof value === 'string' ? parsedOrNull(value) : null;
  if (!Array.isArray(list)) return value;
  requireSingleKeys(String(value), list, field);
  return list;
}

/** null for what is no JSON. */
export function parsedOrNull(text: string): unknown {
  try {
    return parseJsonWithSource(text);
  } catch {
    return null;
  }
}

/** Of JSON text and what it was parsed to. */
export function requireSingleKeys(text: string, value: unknown, field: string): void {
  const twice = repeatedKey(text, value);
  if (twice === null) return;
  throw new RowProblem(
    `field "${field}": an object has "${twice}" twice, of which only the last would count. Keep one.`,
  );
}

/** Refuses what is no JSON. */
export function parsedJson(text: string, field: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RowProblem(`field "${field}": expected JSON text, got text that is not valid JSON.`);
  }
}

/** Refuses what the text of a call or a declaration cannot say. */
export function requireJson(value: unknown, field: string): void {
  requireShallow(value, field);
  const found = notJsonIn(value);
  if (!found) return;
  throw new RowProblem(
    `field "${field}${found.path}": ${found.what} is nothing that JSON can say. Write it as the text or the number that the model is to see.`,
  );
}

/** Refuses what is nested too deep for those who write it into a prompt. */
export function requireShallow(value: unknown, field: string): void {
  if (isDeeperThan(value, DEEPEST_JSON)) throw new RowProblem(`field "${field}": ${TOO_DEEP}`);
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NotJson);
}
