import { DomainError } from '../../core/errors';

/** What a Parquet file may come to when it is read. Packed, a row can take less than a hundredth of a byte. */
export interface ParquetLimits {
  /** Of one row, those inside of structs and lists included. */
  readonly columns: number;
  readonly rows: number;
  /** Of all columns, missing ones included; those inside of lists and structs count once for each part of their path that may be absent. */
  readonly values: number;
  /** Unpacked pages. */
  readonly bytes: number;
  /** Texts and names of the rows when they are put together: a text that a page has once can stand in each. */
  readonly characters: number;
}

export const PARQUET_LIMITS: ParquetLimits = {
  columns: 10_000,
  rows: 5_000_000,
  values: 40_000_000,
  bytes: 2 * 1024 ** 3,
  characters: 2 * 1024 ** 3,
};

/** Counts what a file comes to, and refuses it with `bad-dataset` where that is more than the limits. */
export class ParquetBudget {
  private readonly taken: Record<keyof ParquetLimits, number> = {
    ...{ columns: 0, rows: 0, values: 0, bytes: 0, characters: 0 },
  };

  constructor(
    private readonly name: string,
    private readonly limits: ParquetLimits,
  ) {}

  take(what: keyof ParquetLimits, count: number): void {
    this.taken[what] += count;
    const isWithin = count >= 0 && this.taken[what] <= this.limits[what];
    if (isWithin) return;
    throw new DomainError(
      'bad-dataset',
      `${this.name} comes to more than ${this.limits[what]} ${what} when it is unpacked, which is as many as are read of one Parquet file. If it is meant to be so large, split it into several files, or convert it to .jsonl, which is read line by line.`,
    );
  }
}
