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

test.each<[unknown, string]>([
  [null, 'null'],
  [undefined, 'undefined'],
  ['yes', "'yes'"],
  [{}, '{}'],
  [{ value: '1' }, "{ value: '1' }"],
  [{ value: 1, answer: 7 }, '{ value: 1, answer: 7 }'],
  [[1], '[ 1 ]'],
  ['x'.repeat(1000), `'${'x'.repeat(79)}`],
])('%j is none, and refused with what was returned', async (given, shown) => {
  await expect(grade(given)).rejects.toThrow(
    new Error(
      `the grader has to return a number from 0 to 1, true or false, or {value, answer}; it returned ${shown}`,
    ),
  );
});
