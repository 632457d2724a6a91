import { DomainError } from '../core/errors';
import { isFields } from './json-fields';
import type { Fields } from './kind-of';

/** Under these a file that is one object keeps its rows. */
const ROWS_UNDER = ['data', 'rows', 'train', 'examples', 'instances', 'items', 'records'];

/** Refuses a `.json` file that is one object around its rows, which would be one row of no shape. */
export function requireRows(name: string, text: string): void {
  const whole = wholeObject(text);
  if (whole === null) return;
  const under = Object.keys(whole).find((key) => ROWS_UNDER.includes(key) && isRows(whole[key]));
  if (under !== undefined) {
    throw new DomainError(
      'bad-dataset',
      `${name}: its rows stand in a list under "${under}". Write the list alone, for example with: jq .${under} OLD > NEW.`,
    );
  }
  const members = Object.values(whole);
  if (members.length === 0 || !members.every(isFields)) return;
  throw new DomainError(
    'bad-dataset',
    `${name}: its rows stand under names of their own, which no row would keep. Write them as a list, for example with: jq '[.[]]' OLD > NEW, ` +
      `or jq '[to_entries[] | {id: .key} + .value]' OLD > NEW.`,
  );
}

/** null for a list, for several values, a line each, and for what is no JSON. */
function wholeObject(text: string): Fields | null {
  try {
    const whole: unknown = JSON.parse(text);
    return isFields(whole) ? whole : null;
  } catch {
    return null;
  }
}

function isRows(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isFields);
}
