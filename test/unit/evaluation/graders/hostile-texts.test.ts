import { closeMathGraders } from '../../../../src/evaluation/graders/math/math-graders';
import { expectToBeRead, ROWS, textsOf } from './hostile-texts';

afterAll(closeMathGraders);

/** Of its texts a grader reads one in five, each grader others; test/deep has them all. */
const EVERY = 5;

test.each(ROWS.map(([name, row], index) => ({ name, row, first: index % EVERY })))(
  '$name reads a long text of anything: $row',
  async ({ name, row, first }) => {
    for (const text of textsOf(name).filter((_, index) => index % EVERY === first)) {
      await expectToBeRead(text, { name, row });
    }
  },
);
