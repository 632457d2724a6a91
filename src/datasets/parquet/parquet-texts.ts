/**
 * How long the texts of rows are, without writing them: what a page has once can stand in every row, and as JSON it is written in each.
 * Names of fields count too.
 */
export class ParquetTexts {
  /** Values that come of a text of JSON, by its length: one that is in a dictionary is walked through once. */
  private readonly lengths = new WeakMap<object, number>();

  remember<Value>(value: Value, length: number): Value {
    if (typeof value === 'object' && value !== null) this.lengths.set(value, length);
    return value;
  }

  lengthOf(value: unknown): number {
    if (typeof value === 'string') return value.length;
    if (typeof value !== 'object' || value === null) return 0;
    return this.lengths.get(value) ?? this.lengthOfParts(value);
  }

  private lengthOfParts(value: object): number {
    if (value instanceof Uint8Array) return value.length;
    let length = 0;
    if (Array.isArray(value)) for (const item of value) length += this.lengthOf(item);
    else for (const [name, item] of Object.entries(value)) length += name.length + this.lengthOf(item);
    return length;
  }
}
