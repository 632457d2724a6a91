import { DomainError } from '../../core/errors';
import { DEEPEST_JSON, DEEPEST_ROW, isDeeperThan, TOO_DEEP } from '../../core/json-depth';
import type { Row } from './row-grader';

/** The first of these fields that the row has, as text; numbers count as text. */
export function textField(row: Row, names: readonly string[]): string {
  const value = firstOf(row, names);
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw lacking(names, 'text');
}

/** The first of these fields that the row has, as a list of texts. A single text counts as a list of one. */
export function textListField(row: Row, names: readonly string[]): readonly string[] {
  const value = firstOf(row, names);
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string' || typeof item === 'number')) {
    return value.map(String);
  }
  throw lacking(names, 'a list of texts');
}

/**
 * The list that a text is, as tables keep lists: as JSON. Undefined where it is no list; what looks like one and is no JSON, as Python
 * prints lists, is refused: read as one text it would mean something else.
 */
export function listInText(text: string, field: string): readonly unknown[] | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith('[') || !trimmed.endsWith(']')) return undefined;
  const list = parsedList(trimmed);
  if (list === null) {
    throw new DomainError(
      'bad-dataset',
      `example: field "${field}": is a list that is no JSON. Write it as JSON: ["a", "b"], with double quotes.`,
    );
  }
  if (isDeeperThan(list, DEEPEST_JSON))
    throw new DomainError('bad-dataset', `example: field "${field}": ${TOO_DEEP}`);
  return list;
}

function parsedList(text: string): readonly unknown[] | null {
  try {
    const list: unknown = JSON.parse(text);
    return isList(list) ? list : null;
  } catch {
    return null;
  }
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Whether a field holds anything: tables have empty cells and lists where there is nothing. */
export function isGiven(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === 'string') return !['', '[]'].includes(value.trim());
  return !Array.isArray(value) || value.length > 0;
}

export function firstOf(row: Row, names: readonly string[]): unknown {
  const name = names.find((candidate) => row[candidate] !== undefined && row[candidate] !== null);
  return name === undefined ? undefined : row[name];
}

export function lacking(names: readonly string[], kind: string): DomainError {
  const listed = names.map((name) => `"${name}"`).join(' or ');
  return new DomainError(
    'bad-dataset',
    `example: no ${kind} under ${listed}. Give the row with its original fields.`,
  );
}

/** What graders go down into by recursion, also where a row has it as the text of JSON. */
export function requireShallow(value: unknown, names: readonly string[]): void {
  if (!isDeeperThan(value, DEEPEST_ROW)) return;
  const listed = names.map((name) => `"${name}"`).join(' or ');
  throw new DomainError(
    'bad-dataset',
    `example: under ${listed} lists and objects lie more than ${DEEPEST_ROW} deep in one another. Flatten them, or leave the row out.`,
  );
}

export function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
