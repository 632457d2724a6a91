import { withoutReasoning } from '../../core/reasoning';
import { readWithin, TooLongToRead } from '../../sandboxes/read-within';
import type { Score } from './grader';
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
  return outOfTime(score);
}

/** The same for a grader that is only given the text. */
export function gradeText(grade: (completion: string) => Score, completion: string): Score {
  return readWithin(() => grade(completion))?.result ?? outOfTime(grade(''));
}

function outOfTime(score: Score): Score {
  return { ...score, details: { ...score.details, limit: 'time' } };
}
