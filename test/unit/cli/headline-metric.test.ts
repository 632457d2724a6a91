import { headlineOf } from '../../../src/cli/headline-metric';

const row = { step: 1 };

test.each([
  ['a loss', { 'train/nll': 2.5 }, { label: 'nll', value: 2.5 }],
  ['a reward', { 'env/all/reward/total': 0, 'env/all/total_episodes': 4 }, { label: 'reward', value: 0 }],
  ['nothing', { 'env/all/reward/total': 0, 'env/all/total_episodes': 0 }, null],
])('the number of a step that has %s', (_, metrics, expected) => {
  expect(headlineOf({ ...row, ...metrics })).toEqual(expected);
});
