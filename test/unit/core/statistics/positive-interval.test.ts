import { positiveInterval } from '../../../../src/core/statistics/positive-interval';

test('stays above 0 where the error is as large as the mean', () => {
  const [low, high] = positiveInterval(0.001, 0.001);

  expect(low).toBeGreaterThan(0);
  expect(low * high).toBeCloseTo(1e-6, 12);
});

test('is ± 1.96 of the error where that is small beside the mean', () => {
  const [low, high] = positiveInterval(2, 0.001);

  expect(low).toBeCloseTo(2 - 0.00196, 5);
  expect(high).toBeCloseTo(2 + 0.00196, 5);
});

test('of no loss at all begins at 0', () => {
  expect(positiveInterval(0, 0)).toEqual([0, 0]);
});
