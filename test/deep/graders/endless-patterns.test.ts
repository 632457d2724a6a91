import { findRowGrader } from '../../../src/evaluation/graders/find-row-grader';
import type { Row } from '../../../src/evaluation/graders/row-grader';
import { deepCases } from '../../setup/deep-cases';

const STUCK = `${'a'.repeat(200)}!`;

// Each takes the two seconds of processor time that a pattern may take.
test.each(
  deepCases<[string, Row]>([
    ['regex', { pattern: '^(a+)+$' }],
    ['regex', { pattern: '^(a|A)*$', flags: 'i' }],
    ['ifeval', { instruction_id_list: ['keywords:existence'], kwargs: [{ keywords: ['^(a|a)*$'] }] }],
    [
      'ifeval',
      { instruction_id_list: ['keywords:forbidden_words'], kwargs: [{ forbidden_words: ['(a*)*b'] }] },
    ],
  ]),
)('a pattern that backtracks without end is an error of %s: %j', async (name, row) => {
  const grading = (async () => findRowGrader(name).grade(STUCK, row))();

  await expect(grading).rejects.toMatchObject({ code: 'timed-out', category: 'user' });
});
