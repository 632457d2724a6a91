import { gradingOf } from '../../../../src/training/reinforcement/grading-of';

test.each([
  ['math', { path: 'a.jsonl' }, { path: 'a.csv' }],
  ['code', { path: 'a.jsonl' }, { path: 'b/a.jsonl' }],
  ['search', { questions: 'a.jsonl' }, { questions: 'a.parquet' }],
  ['modelGraded', { dataset: { path: 'a.jsonl' } }, { dataset: { path: 'a.csv', fields: { prompt: 'q' } } }],
  ['comparison', { dataset: { path: 'a', testPath: 'b' } }, { dataset: { path: 'c', testPath: 'd' } }],
])('rows of %s in another file are graded the same', (type, one, other) => {
  expect(gradingOf({ type, limit: 3, ...one })).toEqual(gradingOf({ type, limit: 3, ...other }));
});

test('what decides a score stays, in parts of a mixture too', () => {
  const mixtureOf = (path: string, formatPenalty: number) => ({
    type: 'mixture',
    parts: [{ weight: 1, environment: { type: 'math', path, formatPenalty } }],
  });

  expect(gradingOf(mixtureOf('a', 0.1))).toEqual(gradingOf(mixtureOf('b', 0.1)));
  expect(gradingOf(mixtureOf('a', 0.1))).not.toEqual(gradingOf(mixtureOf('a', 0.2)));
});

test('what an environment of somebody else calls a path may decide anything', () => {
  const environment = { type: 'plugin', environment: 'mine', options: { path: 'a' } };

  expect(gradingOf(environment)).toBe(environment);
});
