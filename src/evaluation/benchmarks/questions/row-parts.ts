import { firstOf } from '../../graders/row-fields';
import type { Row } from '../../graders/row-grader';
import type { Example } from '../../example';

/** The fields of a row that are kept with its example; those it lacks are left out. */
export function fieldsOf(row: Row, names: readonly string[]): Row {
  return Object.fromEntries(names.flatMap((name) => (name in row ? [[name, row[name]]] : [])));
}

/** A field that only splits the score into groups; null where the row lacks it. */
export function groupField(row: Row, names: readonly string[]): string | null {
  const value = firstOf(row, names);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

/** Examples of the same value hang together; a row that lacks the field stands by itself. */
export function clusterOf(row: Row, name: string): Pick<Example, 'cluster'> {
  const cluster = groupField(row, [name]);
  return cluster === null ? {} : { cluster };
}
