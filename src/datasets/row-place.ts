import { rowWord } from './file-rows';

type Row = Readonly<Record<string, unknown>>;

/** Not enumerable, so that a row is written and copied as its publisher wrote it. */
const PLACE = Symbol('place of a row');

/** Where a row was read. `line` counts from 1; in files that have no row a line it is the row. */
export class RowPlace {
  constructor(
    readonly file: string,
    readonly line: number,
  ) {}

  /** As people call it. */
  get text(): string {
    return `${this.file} ${rowWord(this.file)} ${this.line}`;
  }
}

/** Remembers where a row was read, for what is found wrong with it later. */
export function withPlace(row: Row, place: RowPlace): Row {
  return Object.defineProperty(row, PLACE, { value: place });
}

/** File and line of a row, as long as it is the object that was read; else null. */
export function placeOfRow(row: Row): RowPlace | null {
  const place: unknown = Reflect.get(row, PLACE);
  return place instanceof RowPlace ? place : null;
}
