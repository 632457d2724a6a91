import { drawPlan } from './chaos-run';
import { findDifferences, findViolations } from './compare';
import { VARIANTS } from './configs';
import { EVENT_KINDS } from './events';
import type { Outcome } from './outcome';

const SCORE = '{"step":2,"schedule":"evaluators","evaluator":"arithmetic","metric":"accuracy","value":0.5}';
const GOOD: Outcome = {
  status: ['completed'],
  weights: ['a1', 'a1'],
  metrics: ['{"step":1,"train/nll":2}', '{"step":2,"train/nll":1}', ''],
  scores: [SCORE],
  'scores-command': [SCORE],
  checkpoints: ['{"name":"000000","step":0}', '{"name":"000002","step":2}'],
  rollouts: ['1/0.jsonl a1'],
  cells: ['2/arithmetic {"scores":[]}'],
  answers: ['2/arithmetic {"example_id":"one"}'],
};

test('finds nothing where nothing differs', () => {
  expect([...findDifferences(GOOD, GOOD), ...findViolations(GOOD, 2)]).toEqual([]);
});

const row = '{"step":2,"train/nll":1}';

test.each<[string, Partial<Outcome>, RegExp]>([
  ['other weights', { weights: ['a2', 'a2'] }, /^weights: 2 missing: a1 \| a1; 2 instead: a2/],
  ['a doubled row', { metrics: ['{"step":1,"train/nll":2}', row, row, ''] }, /doubled \[2\]/],
  ['a lost row', { metrics: ['{"step":1,"train/nll":2}', ''] }, /missing \[2\]/],
  ['a value that moved', { metrics: ['{"step":1,"train/nll":2.5}', row, ''] }, /^metrics: 1 missing/],
  ['a doubled score', { scores: [SCORE, SCORE] }, /doubled 2\/evaluators\/arithmetic\/accuracy/],
  ['a lost score', { scores: [] }, /^scores: 1 missing/],
  ['a failed score', { scores: [SCORE.replace('accuracy', 'error')] }, /scores.jsonl: failed/],
  ['an answer asked for twice', { answers: [...GOOD.answers, ...GOOD.answers] }, /^answers: 1 instead/],
  ['a rollout that is another', { rollouts: ['1/0.jsonl a2'] }, /^rollouts: 1 missing/],
  ['rows in another order', { checkpoints: [...GOOD.checkpoints].reverse() }, /another order/],
])('finds %s', (_name, change, expected) => {
  const run = { ...GOOD, ...change };

  expect([...findViolations(run, 2), ...findDifferences(run, GOOD)].join('\n')).toMatch(
    new RegExp(expected, 'm'),
  );
});

test('draws the same plan for a seed, and another one for another seed', () => {
  const plans = [7, 7, 8].map((seed) => drawPlan(seed, EVENT_KINDS, { steps: 100, variants: VARIANTS }));

  expect(plans[0]).toEqual(plans[1]);
  expect(plans[0]?.events).not.toEqual(plans[2]?.events);
});

test('draws every kind of event sooner or later, within the run', () => {
  const events = Array.from(
    { length: 100 },
    (_, seed) => drawPlan(seed, EVENT_KINDS, { steps: 100, variants: VARIANTS }).events,
  ).flat();

  expect(new Set(events.map(({ kind }) => kind)).size).toBe(EVENT_KINDS.length);
  expect(events.every(({ afterStep }) => afterStep >= 0 && afterStep <= 100)).toBe(true);
});
