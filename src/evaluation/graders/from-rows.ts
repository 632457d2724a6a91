import { DomainError } from '../../core/errors';
import { gradeRow } from './grade-row';
import type { Grader } from './grader';
import type { RowGrader } from './row-grader';

/** A grader of rows as one of examples, which carry their row. */
export function fromRows(grader: RowGrader): Grader {
  return {
    name: grader.name,
    version: grader.version,
    ...(grader.boundsItself && { boundsItself: true }),
    grade(completion, { id, row }) {
      if (row !== undefined) return gradeRow(grader, completion, row);
      throw new DomainError('bad-dataset', `Example "${id}" has no row for the grader ${grader.name}.`);
    },
    ...(grader.summarize && { summarize: (means) => grader.summarize?.(means) ?? means }),
  };
}
