import type { Score } from './grader';

/** A row of a benchmark as its publisher names the fields. */
export type Row = Readonly<Record<string, unknown>>;

/** What stored responses come to that belong together in other ways than all alike. */
export interface RowTotal {
  add(score: Pick<Score, 'metrics' | 'details'>): void;
  metrics(): Readonly<Record<string, number>>;
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
  /** It bounds its time itself, and waiting for a place to judge in is not the example's. */
  readonly boundsItself?: true;
  /** Its answer is written as a number. */
  readonly hasNumericAnswer?: true;
  /** Of a line of stored responses, where plain JSON forgets what it needs to know. */
  readonly parseLine?: (text: string) => unknown;
  /** For stored responses whose lines have a form of the grader's own: how it looks, and it as example and response. */
  readonly lineForm?: string;
  /** Fields that such a line must have. */
  readonly lineFields?: readonly string[];
  readLine?(line: Row): { readonly example: unknown; readonly response: unknown };
  /** It asks for reasoning, which is kept from it otherwise. */
  readsReasoning?(row: Row): boolean;
  grade(completion: string, row: Row): Score | Promise<Score>;
  /** Metrics of many responses from the mean of each metric; the means themselves where absent. */
  summarize?(means: Readonly<Record<string, number>>): Readonly<Record<string, number>>;
  /** For metrics of stored responses beside these, which no mean of lines gives. */
  startTotal?(): RowTotal;
}
