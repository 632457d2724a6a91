import { closeMathGraders } from '../../../src/evaluation/graders/math/math-graders';
import { deepCases } from '../../setup/deep-cases';
import { expectToBeRead, ROWS, textsOf } from '../../unit/evaluation/graders/hostile-texts';

afterAll(closeMathGraders);

test.each(ROWS)('%s reads a long text of anything: %j', async (name, row) => {
  for (const text of deepCases(textsOf(name))) await expectToBeRead(text, { name, row });
});
