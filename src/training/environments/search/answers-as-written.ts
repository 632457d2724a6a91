import { jsonText } from '../../../core/json-source';
import { isRow } from '../../../evaluation/graders/row-fields';
import type { Row } from '../../../evaluation/graders/row-grader';
import { listItems, memberText } from '../../../renderers/json-text';

/**
 * Answers are compared as texts, in which `3.50` is not `3.5`: a number that a file writes otherwise than this language does stands
 * for both. Rows have to know how they were written.
 */
export function withNumbersAsWritten(row: Row, names: readonly string[]): Row {
  const json = jsonText(row);
  const spelt: Record<string, unknown> = {};
  for (const name of names) {
    if (name in row) spelt[name] = spellings(row[name], memberText(json, name) ?? 'null');
  }
  return { ...row, ...spelt };
}

/** A list in place of a number with two spellings; `json` is the value as it was written. */
export function spellings(value: unknown, json: string): unknown {
  if (typeof value === 'number')
    return json === String(value) || !isKept(value) ? value : [json, String(value)];
  if (Array.isArray(value)) {
    const items = listItems(json);
    return value.flatMap((each: unknown, index): unknown[] => {
      const spelt = spellings(each, items[index] ?? 'null');
      return Array.isArray(spelt) && !Array.isArray(each) ? spelt : [spelt];
    });
  }
  if (!isRow(value)) return value;
  const members = Object.entries(value).map(([name, each]) => [
    name,
    spellings(each, memberText(json, name) ?? 'null'),
  ]);
  return Object.fromEntries(members);
}

/** Others are refused. */
function isKept(value: number): boolean {
  return !Number.isInteger(value) || Number.isSafeInteger(value);
}
