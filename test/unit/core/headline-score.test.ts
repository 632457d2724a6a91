import { headlineScore } from '../../../src/core/headline-score';

const row = (step: number, value: number | null, higherIsBetter: boolean | null, at = '2026-01-01') => ({
  ...{ step, metric: 'm', value, higherIsBetter, at },
});

test.each([
  ['none', [], null],
  ['the newest step', [row(10, 0.1, true), row(20, 0.2, true), row(0, 0.3, true)], 0.2],
  ['one that rises before a newer one that falls', [row(10, 0.1, true), row(20, 3, false)], 0.1],
  ['one that falls where there is no other', [row(10, 4, false), row(20, 3, false)], 3],
  ['never a failed one', [row(10, 0.1, true), row(20, null, true)], 0.1],
  [
    'the one measured last of a step',
    [row(10, 0.1, true, '2026-01-02'), row(10, 0.5, true, '2026-01-03')],
    0.5,
  ],
])('is %s', (_what, rows, expected) => {
  expect(headlineScore(rows)?.value ?? null).toBe(expected);
});
