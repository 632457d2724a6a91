import { graderFromFunction } from '../../../../src/evaluation/benchmarks/grader-function';

const example = { id: 'a', messages: [], target: '42' };
const grade = (given: unknown, completion = ' 42 ') =>
  graderFromFunction({ name: 'own', version: '1', judge: () => given }).grade(completion, example);

test.each<[unknown, object]>([
  [0.5, { value: 0.5, answer: '42' }],
  [true, { value: 1, answer: '42' }],
  [{ value: 0.5 }, { value: 0.5, answer: '42' }],
  [
    { value: 0.5, answer: null },
    { value: 0.5, answer: null },
  ],
  [
    { value: 1, answer: 'x', explanation: 'why', metrics: { length: 3 } },
    { value: 1, answer: 'x', explanation: 'why', metrics: { length: 3 } },
  ],
])('%j is a score', async (given, score) => {
  expect(await grade(given)).toEqual(score);
});

test('an empty reply has no answer', async () => {
  expect(await grade({ value: 0 }, '  ')).toEqual({ value: 0, answer: null });
});

test.each([[null], [undefined], ['1'], [{}], [{ value: '1' }], [{ value: 1, answer: 7 }], [[1]]])(
  '%j is none, and refused where scores are read',
  async (given) => {
    expect((await grade(given)).value).toBeNaN();
  },
);
