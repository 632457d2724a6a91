type Row = Readonly<Record<string, unknown>>;

/** Not enumerable, so that a row is written and copied as its publisher wrote it. */
const PLACE = Symbol('place of a row');

/** Remembers where a row was read, for what is found wrong with it later. */
export function withPlace(row: Row, place: string): Row {
  return Object.defineProperty(row, PLACE, { value: place });
}

/** File and line of a row, as long as it is the object that was read; else null. */
export function placeOfRow(row: Row): string | null {
  const place: unknown = Reflect.get(row, PLACE);
  return typeof place === 'string' ? place : null;
}
