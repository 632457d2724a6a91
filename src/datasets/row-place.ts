import { rowWord } from './file-rows';

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

  /** As programs call it. */
  get address(): string {
    return `${this.file}:${this.line}`;
  }
}

/** Remembers where a row, or what was made of one, was read, for what is found wrong with it later. */
export function withPlace<Value extends object>(row: Value, place: RowPlace): Value {
  return Object.defineProperty(row, PLACE, { value: place });
}

/** File and line of a row, as long as it is the object that was read; else null. */
export function placeOfRow(row: object): RowPlace | null {
  const place: unknown = Reflect.get(row, PLACE);
  return place instanceof RowPlace ? place : null;
}
