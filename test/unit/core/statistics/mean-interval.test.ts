import { meanInterval } from '../../../../src/core/statistics/mean-interval';
import { wilsonInterval } from '../../../../src/core/statistics/wilson-interval';

const RIGHT_OR_WRONG = { isBinary: true, clusterCount: 8 };

test.each([0, 1, 0.5])('zeros and ones whose clusters all have the mean %d are not certain', (mean) => {
  const interval = meanInterval({ ...RIGHT_OR_WRONG, mean, standardError: 0 });

  expect(interval).toEqual(wilsonInterval(8 * mean, 8));
  expect(interval[1] - interval[0]).toBeGreaterThan(0.3);
});

test('none right of eight examples: up to z² ÷ (8 + z²), however many samples each has', () => {
  const [low, high] = meanInterval({ ...RIGHT_OR_WRONG, mean: 0, standardError: 0 });

  expect(low).toBe(0);
  expect(high).toBeCloseTo(3.841459 / 11.841459, 6);
});

test('what rounding leaves of no error is none', () => {
  expect(meanInterval({ ...RIGHT_OR_WRONG, mean: 1, standardError: 1e-17 })[0]).toBeCloseTo(0.6756, 4);
});

test('with an error it is ± 1.96 of it, of zeros and ones cut at 0 and 1', () => {
  const spread = { mean: 0.1, standardError: 0.1, clusterCount: 8 };

  expect(meanInterval({ ...spread, isBinary: true })).toEqual([0, expect.closeTo(0.2959964, 6) as number]);
  expect(meanInterval({ ...spread, isBinary: false })[0]).toBeCloseTo(-0.0959964, 6);
});

test('scores between 0 and 1 have no interval but that of their error', () => {
  expect(meanInterval({ mean: 0.5, standardError: 0, clusterCount: 8, isBinary: false })).toEqual([0.5, 0.5]);
});
