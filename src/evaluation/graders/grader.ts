import type { Example } from '../example';

/** One completion judged. */
export interface Score {
  /** 0 wrong … 1 right. */
  readonly value: number;
  /** What was read as the answer; null when the completion has none. */
  readonly answer: string | null;
  readonly explanation?: string;
}

/**
 * Judges completions. A completion that cannot be read scores 0; throwing means that the grader itself failed and
 * should be asked again.
 */
export interface Grader {
  readonly name: string;
  /** Changes with anything that moves a score; part of the identity of results and of the journal's keys. */
  readonly version: string;
  grade(completion: string, example: Example): Score | Promise<Score>;
}
