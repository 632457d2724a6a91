import type { Score } from '../graders/grader';
import { textListField } from '../graders/row-fields';
import type { RowGrader } from '../graders/row-grader';
import { readGrade, readRating } from './read-verdicts';

/** How replies of judges are read, for whoever wants to try it without a model: the score says whether there is a verdict. */
export const judgeGradeRows: RowGrader = {
  name: 'judge_grade',
  version: 'judge_grade@2',
  description:
    'lines {"reply", "letters"}; the answer is the letter of the last "GRADE: X", as model_graded_qa reads it',
  lineForm: '{"reply": "<text>", "letters": ["C", "I"]}',
  lineFields: ['reply', 'letters'],
  readLine: ({ reply, letters }) => ({ example: { letters }, response: reply }),
  grade: (reply, row) => verdict(readGrade(reply, textListField(row, ['letters']))),
};

export const judgeRatingRows: RowGrader = {
  name: 'judge_rating',
  version: 'judge_rating@3',
  description:
    'lines {"reply"}; the answer is the number of the last "Rating: [[5]]", as single_score reads it',
  lineForm: '{"reply": "<text>"}',
  lineFields: ['reply'],
  readLine: ({ reply }) => ({ example: {}, response: reply }),
  hasNumericAnswer: true,
  grade: (reply) => verdict(readRating(reply)),
};

function verdict(read: string | number | null): Score {
  return { value: Number(read !== null), answer: read === null ? null : String(read) };
}
