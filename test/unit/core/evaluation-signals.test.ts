import { isCancelEvaluators, isEvaluationFinished } from '../../../src/core/evaluation-signals';

const SCORE = { metric: 'accuracy', key: 'test/sums/accuracy', value: 0.5, stderr: null, n: 8 };
const CELL = { evaluator: 'sums', scores: [{ ...SCORE, higherIsBetter: true }], at: '2026-01-01T00:00:00Z' };
const FINISHED = { step: 4, cells: [CELL] };

test.each([
  ['of a schedule', FINISHED],
  ['of a person', { ...FINISHED, request: 0 }],
  ['of one schedule of several', { ...FINISHED, part: 'often', late: 'rare' }],
  ['that failed', { step: 4, cells: [{ ...CELL, scores: [], error: 'it threw' }] }],
  ['that made room', { step: 4, cells: [{ ...CELL, scores: [], omission: 'skipped' }] }],
  ['that a second worker took up', { step: 4, cells: [{ ...CELL, attempt: 2 }] }],
  ['without a value', { step: 4, cells: [{ ...CELL, scores: [{ ...SCORE, value: null }] }] }],
])('what an evaluation %s tells is taken', (_, told) => {
  expect(isEvaluationFinished(told)).toBe(true);
});

const score = (more: object) => ({ step: 4, cells: [{ ...CELL, scores: [{ ...SCORE, ...more }] }] });
const cell = (more: object) => ({ step: 4, cells: [{ ...CELL, ...more }] });

test.each([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'done'],
  ['a list', [FINISHED]],
  ['no cells', { step: 4 }],
  ['cells that are no list', { step: 4, cells: { 0: CELL } }],
  ['no step', { cells: [] }],
  ['half a step', { ...FINISHED, step: 1.5 }],
  ['a step below zero', { ...FINISHED, step: -1 }],
  ['a request that is a text', { ...FINISHED, request: '1' }],
  ['a part that is a number', { ...FINISHED, part: 1 }],
  ['a cell that is none', { step: 4, cells: [null] }],
  ['a cell without a name', cell({ evaluator: 1 })],
  ['a cell without scores', cell({ scores: undefined })],
  ['a cell without a time', cell({ at: 0 })],
  ['an error that is no text', cell({ error: {} })],
  ['an attempt that is no count', cell({ attempt: '2' })],
  ['an omission nobody knows', cell({ omission: 'lost' })],
  ['a score that is a text', score({ value: '0.5' })],
  ['a score without a metric', score({ metric: null })],
  ['a score of half an example', score({ n: 0.5 })],
])('%s is no news of an evaluation', (_, told) => {
  expect(isEvaluationFinished(told)).toBe(false);
});

test('evaluators are cancelled by name, with a reason, and by nothing else', () => {
  expect(isCancelEvaluators({ evaluators: ['sums'], reason: 'the next one began' })).toBe(true);
  for (const asked of [undefined, {}, { evaluators: 'sums', reason: '' }, { evaluators: [1], reason: '' }]) {
    expect(isCancelEvaluators(asked)).toBe(false);
  }
  expect(isCancelEvaluators({ evaluators: ['sums'] })).toBe(false);
});
