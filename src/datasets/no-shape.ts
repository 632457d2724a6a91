import type { FieldNames } from './field-names';
import { calledInRows } from './field-names';
import type { Fields } from './kind-of';

const MOST_SHOWN = 8;

/** Why a row is no conversation, in the row's own names. `needed` are the fields without which there is none, shape by shape. */
export function whyNoShape(row: Fields, needed: readonly (readonly string[])[], names: FieldNames): string {
  const fields = Object.keys(row).slice(0, MOST_SHOWN).join(', ');
  const has = `the fields ${fields === '' ? '(none)' : fields}`;
  const missing = needed.flat().flatMap((read) => {
    const called = calledInRows(read, names);
    const isNamed = Object.hasOwn(names, read);
    return !isNamed || called in row || read in row ? [] : [`"${called}" (dataset.fields.${read})`];
  });
  if (missing.length > 0) {
    const what = missing.length === 1 ? 'is missing' : 'are missing';
    return `field ${missing.join(' and ')} ${what}: the row has ${has}. If it is called otherwise there, correct dataset.fields.`;
  }
  const shapes = needed.map((reads) => reads.map((read) => `"${calledInRows(read, names)}"`).join(' and '));
  return (
    `no known shape: expected ${shapes.slice(0, -1).join(', ')}, or ${shapes.at(-1) ?? ''}, got ${has}. ` +
    `Fields of other names are named in dataset.fields, such as {prompt: question, completion: answer}.`
  );
}
