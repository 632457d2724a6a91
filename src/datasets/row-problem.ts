/** What a row quotes may be as long as the row, and what is said of it goes into a run's history. */
const LONGEST = 2000;

/** What is wrong with one row, naming the field. Internal: the loader adds file and line. */
export class RowProblem extends Error {
  constructor(message: string) {
    super(message.length > LONGEST ? `${message.slice(0, LONGEST)}…` : message);
  }
}

/** One that names fields as the row does, not as they are read. */
export class ProblemInRowNames extends RowProblem {}
