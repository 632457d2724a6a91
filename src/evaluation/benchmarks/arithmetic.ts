import { isHeldOutPair } from '../../core/held-out-pairs';
import { makeExampleId } from '../example';
import { numericAnswer } from '../graders/numeric-answer';
import { textField } from '../graders/row-fields';
import type { Row } from '../graders/row-grader';
import type { Benchmark } from './benchmark';

/**
 * Sums of two two-digit numbers, asked as "37+58=" without examples.
 *
 * Only pairs that are in no training data of ours (`isHeldOutPair`), so that the score measures adding and not memory.
 * The last number of the completion is the answer. Made for the model that ships with Everstep; it has no published number.
 */
export const arithmetic: Benchmark = {
  name: 'arithmetic',
  version: 1,
  description: 'Sums of two-digit numbers held out from all shipped training data; 794 examples, last number',
  comparableWith: 'Nothing published: it was made for the model that ships with Everstep.',
  data: { rows: heldOutSums },
  orderSeed: 20_250_101,
  toExample(row) {
    const [question, target] = [textField(row, ['question']), textField(row, ['answer'])];
    return {
      id: makeExampleId('arithmetic', question),
      messages: [{ role: 'user', content: question }],
      target,
    };
  },
  generation: { maxTokens: 8, temperature: 0, topP: 1 },
  grader: numericAnswer(),
};

function heldOutSums(): Row[] {
  const rows: Row[] = [];
  for (let a = 10; a <= 99; a++) {
    for (let b = 10; b <= 99; b++) {
      if (isHeldOutPair(a, b)) rows.push({ question: `${a}+${b}=`, answer: String(a + b) });
    }
  }
  return rows;
}
