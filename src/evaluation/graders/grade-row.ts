import { withoutReasoning } from '../../core/reasoning';
import type { Score } from './grader';
import { readWithin } from './read-within';
import type { Row, RowGrader } from './row-grader';

/**
 * What was only thought is no answer, whichever grader reads it, and whether a model or a file of responses is graded. One that takes
 * longer to read than any honest answer counts as none.
 */
export function gradeRow(grader: RowGrader, completion: string, row: Row): Score | Promise<Score> {
  const isWhole = grader.readsReasoning?.(row) === true;
  const answer = isWhole ? completion : withoutReasoning(completion);
  if (grader.boundsItself) return grader.grade(answer, row);
  const read = readWithin(() => grader.grade(answer, row));
  return read ? read.result : unread(grader, row);
}

async function unread(grader: RowGrader, row: Row): Promise<Score> {
  const score = await grader.grade('', row);
  return { ...score, details: { ...score.details, limit: 'time' } };
}
