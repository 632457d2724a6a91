import { SupervisedConfig } from '../../../src/config/supervised-config';
import { resolveEvaluations } from '../../../src/training/resolve-evaluations';

const minimal = { kind: 'sft', model: 'everstep/tiny', dataset: { path: 'train.jsonl' } };
const parse = (more: object) => SupervisedConfig.parse({ ...minimal, ...more });
const testSet = { type: 'nll' as const, name: 'test', dataset: parse({}).dataset, concurrency: 64 };

test('the short form becomes two schedules with the rhythms of the field', () => {
  const config = parse({
    evaluators: ['arithmetic'],
    infrequentEvaluators: [{ type: 'benchmark', benchmark: 'arithmetic', name: 'large' }],
  });

  const { schedules, evaluators } = resolveEvaluations(config, null);

  expect(schedules).toMatchObject([
    { name: 'evaluators', every: { steps: 10 }, evaluators: ['arithmetic'], mode: 'background' },
    { name: 'infrequentEvaluators', every: { steps: 100 }, evaluators: ['large'] },
  ]);
  expect(Object.keys(evaluators)).toEqual(['arithmetic', 'large']);
});

test('the test split joins the periodic evaluators unasked, once', () => {
  const unasked = resolveEvaluations(parse({ evaluators: ['arithmetic'] }), testSet);
  const alone = resolveEvaluations(parse({}), testSet);
  const asked = resolveEvaluations(parse({ evaluators: [testSet] }), testSet);

  expect(unasked.schedules[0]?.evaluators).toEqual(['arithmetic', 'test']);
  expect(alone.schedules).toMatchObject([{ name: 'evaluators', evaluators: ['test'] }]);
  expect(asked.schedules[0]?.evaluators).toEqual(['test']);
});

test('0 switches a rhythm off', () => {
  expect(resolveEvaluations(parse({ evaluators: ['arithmetic'], evalEvery: 0 }), null).schedules).toEqual([]);
});

test('refuses two different evaluators of one name', () => {
  const config = parse({
    evaluators: ['arithmetic'],
    infrequentEvaluators: [{ type: 'benchmark', benchmark: 'arithmetic', maxExamples: 5 }],
  });

  expect(() => resolveEvaluations(config, null)).toThrow('two evaluators are called "arithmetic"');
});
