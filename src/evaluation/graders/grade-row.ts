import { withoutReasoning } from '../../core/reasoning';
import type { Score } from './grader';
import { readWithin, TooLongToRead } from './read-within';
import type { Row, RowGrader } from './row-grader';

/**
 * What was only thought is no answer, whichever grader reads it, and whether a model or a file of responses is graded. One that takes
 * longer to read than any honest answer counts as none.
 */
export async function gradeRow(grader: RowGrader, completion: string, row: Row): Promise<Score> {
  const isWhole = grader.readsReasoning?.(row) === true;
  const answer = isWhole ? completion : withoutReasoning(completion);
  if (grader.boundsItself) return grader.grade(answer, row);
  try {
    const read = readWithin(() => grader.grade(answer, row));
    return read ? await read.result : await unread(grader, row);
  } catch (error) {
    if (error instanceof TooLongToRead) return unread(grader, row);
    throw error;
  }
}

async function unread(grader: RowGrader, row: Row): Promise<Score> {
  const score = await grader.grade('', row);
  return { ...score, details: { ...score.details, limit: 'time' } };
}
