import * as requests from '../../../src/client/control-requests';

const who = { by: 'me', reason: '' };

test.each<[string, () => unknown, RegExp]>([
  [
    'a limit below 0',
    () => requests.budgetRequest({ ...who, tokens: -5 }),
    /limits.tokens is -5. Give a number above 0/,
  ],
  ['no limit', () => requests.budgetRequest(who), /give at least one limit/],
  [
    'half a step',
    () => requests.scheduleRequest('a', { ...who, every: { steps: 2.5 } }),
    /every.steps is 2.5. Give a whole number from 1 on/,
  ],
  [
    'a learning rate of 0',
    () => requests.learningRateRequest({ ...who, value: 0 }),
    /value is 0. Give a number above 0/,
  ],
  ['half a checkpoint', () => requests.promotionRequest(1.5, who), /checkpoint is 1.5. Give a whole number/],
])('refuses %s in plain words', (_what, make, expected) => {
  expect(make).toThrow(expected);
  expect(make).not.toThrow(/Too small|expected|Invalid/);
});
