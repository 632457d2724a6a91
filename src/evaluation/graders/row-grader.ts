import type { Score } from './grader';

/** A row of a benchmark as its publisher names the fields. */
export type Row = Readonly<Record<string, unknown>>;

export interface RowScore extends Score {
  /** Numbers beside the score, 0…1 where they are rates. */
  readonly metrics?: Readonly<Record<string, number>>;
  /** What a person may want to know of how the score came about. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * Judges a completion against a row in its publisher's field names. A completion that cannot be read scores 0 with
 * `answer: null`; a row that lacks what the grader needs is refused with a DomainError.
 */
export interface RowGrader {
  /** Name on the command line, with underscores. */
  readonly name: string;
  /** Changes with anything that moves a score. */
  readonly version: string;
  /** Fields of the row it reads, and how it finds the answer. */
  readonly description: string;
  grade(completion: string, row: Row): RowScore | Promise<RowScore>;
  /** Metrics of many responses from the mean of each metric; the means themselves where absent. */
  summarize?(means: Readonly<Record<string, number>>): Readonly<Record<string, number>>;
}
