import { withoutReasoning } from '../../core/reasoning';
import { readWithin, TooLongToRead } from '../../sandboxes/read-within';
import type { Score } from './grader';
import type { Row, RowGrader } from './row-grader';

type Grade = (completion: string) => Score | Promise<Score>;

/** What was only thought is no answer, whichever grader reads it, and whether a model or a file of responses is graded. */
export async function gradeRow(grader: RowGrader, completion: string, row: Row): Promise<Score> {
  const isWhole = grader.readsReasoning?.(row) === true;
  const answer = isWhole ? completion : withoutReasoning(completion);
  const grade = (text: string) => grader.grade(text, row);
  return grader.boundsItself ? grade(answer) : gradeWithin(grade, answer);
}

/** A completion that takes longer to read than any honest answer counts as none. */
export async function gradeWithin(grade: Grade, completion: string): Promise<Score> {
  try {
    const read = readWithin(() => grade(completion));
    return read ? await read.result : await unread(grade);
  } catch (error) {
    if (error instanceof TooLongToRead) return unread(grade);
    throw error;
  }
}

async function unread(grade: Grade): Promise<Score> {
  const score = await grade('');
  return { ...score, details: { ...score.details, limit: 'time' } };
}
