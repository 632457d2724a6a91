/** What is wrong with one row, naming the field. Internal: the loader adds file and line. */
export class RowProblem extends Error {}
