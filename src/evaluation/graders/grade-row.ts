import { withoutReasoning } from '../../core/reasoning';
import type { Score } from './grader';
import type { Row, RowGrader } from './row-grader';

/** What was only thought is no answer, whichever grader reads it, and whether a model or a file of responses is graded. */
export function gradeRow(grader: RowGrader, completion: string, row: Row): Score | Promise<Score> {
  const isWhole = grader.readsReasoning?.(row) === true;
  return grader.grade(isWhole ? completion : withoutReasoning(completion), row);
}
