import { ScheduleConfig } from '../../../src/config/evaluation-config';
import { SupervisedConfig } from '../../../src/config/supervised-config';
import { resolveEvaluations } from '../../../src/training/resolve-evaluations';
import { budgetOf, refuseUnpriced } from '../../../src/training/run-budget';

const minimal = { kind: 'sft', model: 'everstep/tiny', dataset: { path: 'train.jsonl' } };
const plugin = { type: 'plugin', name: 'own', evaluator: 'own' };

function gated(gate: object, more: object = {}) {
  return SupervisedConfig.parse({
    ...minimal,
    schedules: [{ name: 'quality', every: { steps: 5 }, evaluators: ['arithmetic', plugin], gate, ...more }],
  });
}

const resolved = (gate: object) => resolveEvaluations(gated(gate), null).schedules[0]?.gate;

test('a gate knows who gives its score and which direction is good', () => {
  expect(resolved({ metric: 'test/arithmetic/accuracy', rule: { atLeast: 0.9 } })).toEqual({
    evaluator: 'arithmetic',
    metric: 'test/arithmetic/accuracy',
    rule: { atLeast: 0.9 },
    on: 'interval',
    by: 'significance',
    otherwise: 'hold',
    promotes: true,
    higherIsBetter: true,
  });
  expect(resolved({ metric: 'test/own/charm', rule: { atMost: 3 }, higherIsBetter: false })).toMatchObject({
    evaluator: 'own',
    higherIsBetter: false,
  });
});

test('numbers alone replace the best where numbers alone are compared, or where that is asked for', () => {
  const asked = { metric: 'test/arithmetic/accuracy', rule: { atLeast: 0.9 } };

  expect(resolved({ ...asked, on: 'value' })?.by).toBe('point');
  expect(resolved({ ...asked, by: 'point' })?.by).toBe('point');
  expect(resolved({ ...asked, on: 'value', by: 'significance' })?.by).toBe('significance');
});

test.each<[string, object, RegExp]>([
  [
    'of a metric without a direction',
    { metric: 'test/own/charm', rule: { atLeast: 1 } },
    /Set gate.higherIsBetter/,
  ],
  [
    'of a score nobody gives',
    { metric: 'accuracy', rule: { atLeast: 1 } },
    /gives "accuracy". They give: test\/arith/,
  ],
  ['from the wrong side', { metric: 'test/arithmetic/accuracy', rule: { atMost: 1 } }, /Use atLeast/],
  [
    'that no share reaches',
    { metric: 'test/arithmetic/accuracy', rule: { atLeast: 5 } },
    /is a share, between 0 and 1; no checkpoint reaches atLeast: 5\. For 5 % write 0\.05\./,
  ],
  [
    'against what the evaluator says',
    { metric: 'test/arithmetic/accuracy', rule: { atLeast: 1 }, higherIsBetter: false },
    /is better when it is higher. Leave gate.higherIsBetter out/,
  ],
])('a gate %s is refused', (_what, gate, message) => {
  expect(() => resolved(gate)).toThrow(message);
});

test.each<[string, object, string]>([
  ['stop', { otherwise: 'stop' }, 'Set mode: blocking'],
  ['a rate', { otherwise: { learningRate: 0.5 } }, 'Set mode: blocking'],
  ['the base, which is not measured', { rule: { improvesOnBase: 0.95 } }, 'Set atStart: true'],
])('a gate by %s has to be able to keep what it says', (_what, more, message) => {
  const gate = { metric: 'test/arithmetic/accuracy', rule: { atLeast: 1 }, ...more };
  const schedule = { name: 'quality', every: { steps: 5 }, atStart: false, evaluators: ['arithmetic'], gate };

  const { error } = ScheduleConfig.safeParse(schedule);

  expect(error?.issues.map((issue) => issue.message).join()).toContain(message);
});

test('one gate promotes', () => {
  const gate = { metric: 'test/arithmetic/accuracy', rule: { atLeast: 1 } };
  const both = (more: object) =>
    SupervisedConfig.parse({
      ...minimal,
      schedules: ['one', 'two'].map((name) => ({
        ...{ name, every: { steps: 5 }, evaluators: ['arithmetic'] },
        gate: { ...gate, ...(name === 'two' && more) },
      })),
    });

  expect(() => resolveEvaluations(both({}), null)).toThrow(/"one" and "two".*gate.promotes: false/);
  expect(resolveEvaluations(both({ promotes: false }), null).schedules).toHaveLength(2);
});

test('the test split may be gated before it is known', () => {
  const config = SupervisedConfig.parse({
    ...minimal,
    schedules: [
      {
        ...{ name: 'quality', every: { steps: 5 }, evaluators: ['arithmetic'] },
        gate: { metric: 'test/nll', rule: { atMost: 1 } },
      },
    ],
  });

  expect(resolveEvaluations(config, 'unknown').schedules[0]?.gate).toMatchObject({ evaluator: 'test' });
  expect(() => resolveEvaluations(config, null)).toThrow(/gives "test\/nll"/);
});

test('dollars need prices, of evaluations those of sampling', () => {
  const budget = { budget: { dollars: 1 } };
  const priced = (prices: object) => ({ engine: { prices: { 'everstep/tiny': prices } } });
  const run = (more: object) => SupervisedConfig.parse({ ...minimal, ...budget, ...more });
  const limited = (more: object) => gated({ metric: 'test/arithmetic/accuracy', rule: { atLeast: 1 } }, more);

  expect(() => budgetOf(run({}), false)).toThrow(/price of everstep\/tiny is not known/);
  expect(budgetOf(run({}), true).budget).toMatchObject({ dollars: 1, dollarsPerMillionTokens: 0 });
  expect(budgetOf(run(priced({ training: 2 })), false).budget).toEqual({
    ...{ tokens: null, seconds: null, dollars: 1, dollarsPerMillionTokens: 2 },
  });
  expect(budgetOf(SupervisedConfig.parse(minimal), true)).toEqual({});

  const config = limited(budget);
  const { schedules } = resolveEvaluations(config, null);
  const prices = { training: 2, prefill: 1, sampling: 3 };
  expect(() => {
    refuseUnpriced(config, schedules, false);
  }).toThrow(/Give prefill and sampling under engine.prices/);
  refuseUnpriced(config, schedules, true);
  refuseUnpriced(run(priced(prices)), schedules, false);
});
