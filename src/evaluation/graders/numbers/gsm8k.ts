import { DomainError } from '../../../core/errors';
import { textField } from '../row-fields';
import type { RowGrader } from '../row-grader';
import { gsm8kAnswer, gsm8kReference } from './gsm8k-answer';
import { areEqualNumbers } from './number-text';

/** Right when the completion's number equals the one behind `####` in the row's `answer`. */
export const gsm8k: RowGrader = {
  name: 'gsm8k',
  version: 'gsm8k@7',
  description: 'answer; number behind ####, in \\boxed{}, behind "answer is" or "A:", else the last one',
  grade(completion, row) {
    const reference = textField(row, ['answer', 'target']);
    const target = gsm8kReference(reference);
    if (target === null) {
      throw new DomainError(
        'bad-dataset',
        `example: no number in "answer" (${reference.slice(0, 60)}). Give the row with its original fields.`,
      );
    }
    const answer = gsm8kAnswer(completion);
    const isRight = answer !== null && areEqualNumbers(answer, target);
    return { value: Number(isRight), answer, explanation: `expected ${target}`, details: { target } };
  },
};
