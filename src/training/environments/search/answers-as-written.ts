import { jsonText } from '../../../core/json-source';
import type { Row } from '../../../evaluation/graders/row-grader';
import { listItems, objectMembers } from '../../../renderers/json-text';

/**
 * Answers are compared as texts, in which `3.50` is not `3.5`: a number that a file writes otherwise than this language does stands
 * for both. Rows have to know how they were written.
 */
export function withNumbersAsWritten(row: Row, names: readonly string[]): Row {
  const texts = textsOfMembers(jsonText(row));
  const spelt: Record<string, unknown> = {};
  for (const name of names) {
    if (name in row) spelt[name] = spellings(row[name], texts.get(name) ?? 'null');
  }
  return { ...row, ...spelt };
}

/** Lists of answers lie no deeper in objects; below it, what stands there is as it was. */
const DEEPEST = 5;

/** A list in place of a number with two spellings; `json` is the value as it was written. */
export function spellings(value: unknown, json: string, depth = 0): unknown {
  if (typeof value === 'number')
    return json === String(value) || !isKept(value) ? value : [json, String(value)];
  if (depth === DEEPEST || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = listItems(json);
    return value.flatMap((each: unknown, index): unknown[] => {
      const spelt = spellings(each, items[index] ?? 'null', depth + 1);
      return Array.isArray(spelt) && !Array.isArray(each) ? spelt : [spelt];
    });
  }
  const texts = textsOfMembers(json);
  const members = Object.entries(value).map(([name, each]) => [
    name,
    spellings(each, texts.get(name) ?? 'null', depth + 1),
  ]);
  return Object.fromEntries(members);
}

/** Of members that are there twice, the last counts. */
function textsOfMembers(json: string): ReadonlyMap<string, string> {
  return new Map(objectMembers(json).map(({ name, text }) => [name, text]));
}

/** Others are refused. */
function isKept(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
