import { DomainError } from '../../core/errors';
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

/** A completion that takes longer to read than any honest answer counts as none; a row that does is refused. */
export async function gradeWithin(grade: Grade, completion: string): Promise<Score> {
  const score = await read(grade, completion);
  if (score) return score;
  const none = await read(grade, '');
  if (none) return { ...none, details: { ...none.details, limit: 'time' } };
  throw new DomainError(
    'timed-out',
    'example: the fields of its row alone take longer to read than an answer may. Leave it out, or give it with its original fields.',
    { category: 'user' },
  );
}

/** Null where it takes too long. */
async function read(grade: Grade, completion: string): Promise<Score | null> {
  try {
    const found = readWithin(() => grade(completion));
    return found ? await found.result : null;
  } catch (error) {
    if (error instanceof TooLongToRead) return null;
    throw error;
  }
}
