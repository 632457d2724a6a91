import { isFields } from './json-fields';
import type { Fields } from './kind-of';
import { RowProblem } from './row-problem';

/** By what a field is read as (`prompt`), what rows call it (`question`). */
export type FieldNames = Readonly<Partial<Record<string, string>>>;

/**
 * The row with its fields under the names they are read by. What a row does not have is missing in it as before; what it has under
 * both names is refused, since one of the two would be lost.
 */
export function withReadNames(row: Fields, names: FieldNames): Fields {
  const readAs = new Map(Object.entries(names).map(([read, called]) => [called, read]));
  if (readAs.size === 0) return row;
  const renamed = Object.entries(row).map(([key, value]) => [readAs.get(key) ?? key, value] as const);
  const said = renamed.filter(([, value]) => value !== null && value !== '');
  const twice = said.find(([key], index) => said.findIndex(([other]) => other === key) !== index)?.[0];
  // Of a field that is empty under one of its names, the other counts.
  if (twice === undefined) return Object.fromEntries([...renamed, ...said]);
  throw new RowProblem(
    `the row has "${twice}" and "${names[twice] ?? ''}", which dataset.fields reads as "${twice}". ` +
      `Name the first in dataset.fields too, or remove one of them.`,
  );
}

/** What was found wrong with a field, under the name that the row has for it. */
export function withRowNames(problem: string, names: FieldNames, row: unknown): string {
  return problem.replaceAll(/\bfield "(\w+)/g, (words, read: string) => {
    const called = calledInRows(read, names);
    return isFields(row) && called in row ? `field "${called}` : words;
  });
}

export function calledInRows(read: string, names: FieldNames): string {
  return (Object.hasOwn(names, read) ? names[read] : undefined) ?? read;
}
