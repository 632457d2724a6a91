import { ownValue } from '../../core/own-value';
import { makeExampleId } from '../example';
import { ceval as cevalRows } from '../graders/choices/choice-graders';
import { textField } from '../graders/row-fields';
import type { Benchmark } from './benchmark';
import { GENERATION } from './benchmark';
import { CEVAL_SUBJECTS } from './questions/ceval-subjects';
import { letteredOptions } from './questions/lettered-options';
import { fieldsOf, groupField } from './questions/row-parts';
import { rowsByGroup } from './questions/scored-by-group';

const LETTERS = ['A', 'B', 'C', 'D'];

/** Questions of Chinese exams (Huang et al., 2023), without examples; the validation split, whose answers are public. */
export const ceval: Benchmark = {
  name: 'ceval',
  version: 1,
  description: 'Chinese exams of 52 subjects; 1,346 examples of the validation split, four options, no shots',
  comparableWith:
    'Zero-shot scores on the validation split, reasoning allowed. Not the test split of the leaderboard, whose answers are secret.',
  data: {
    hub: 'ceval/ceval-exam',
    revision: '617524a00b307ff6f9933702f724131fe12ca7ce',
    split: 'val',
    configs: Object.keys(CEVAL_SUBJECTS),
    configField: '_subject',
  },
  orderSeed: 42,
  toExample(row) {
    const question = textField(row, ['question']);
    const options = LETTERS.map((letter) => textField(row, [letter]));
    const subject = ownValue(CEVAL_SUBJECTS, groupField(row, ['_subject', 'subject']) ?? '') ?? '';
    return {
      id: makeExampleId('ceval', question),
      messages: [
        {
          role: 'user',
          content: `下面是一道中国${subject}考试的单项选择题。\n\n${question}\n\n${letteredOptions(options)}\n\n请逐步思考，最后写出“答案是X”，其中X是A、B、C、D中的一个字母。`,
        },
      ],
      target: textField(row, ['answer']).trim(),
      row: fieldsOf(row, ['answer', '_subject', 'subject']),
    };
  },
  generation: GENERATION,
  grader: rowsByGroup('ceval', cevalRows, (row) => [groupField(row, ['_subject', 'subject'])]),
};
