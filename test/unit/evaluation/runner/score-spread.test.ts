import { clusteredSpread } from '../../../../src/core/statistics/clustered-mean';
import { wilsonInterval } from '../../../../src/core/statistics/wilson-interval';
import { spreadOf } from '../../../../src/evaluation/runner/score-spread';

const ONCE = { isBinary: true, isAskedOnce: true };

/** Six questions about three texts; those of a text agree. */
const TEXTS = [1, 1, 1, 1, 0, 0].map((value, index) => ({ value, cluster: `text ${Math.floor(index / 2)}` }));

test('examples that hang together are counted as clusters', () => {
  const { score, stderr, ci, num_clusters: clusters } = spreadOf(TEXTS, ONCE);
  const apart = spreadOf(
    TEXTS.map(({ value }) => ({ value, cluster: null })),
    ONCE,
  );

  expect(score).toBeCloseTo(2 / 3, 12);
  expect(clusters).toBe(3);
  // Residuals by text: 2/3, 2/3, -4/3; √(24/9) ÷ 6 · √(3/2).
  expect(stderr).toBeCloseTo(1 / 3, 12);
  expect(ci?.[0]).toBeCloseTo(2 / 3 - 1.959964 / 3, 5);
  expect(ci?.[1]).toBe(1);
  expect(apart.stderr).toBeCloseTo(Math.sqrt(4 / 15 / 6), 12);
  expect(apart).not.toHaveProperty('num_clusters');
});

test('an example without a cluster is its own, whatever it is called', () => {
  const mixed = [...TEXTS, { value: 1, cluster: null }, { value: 0, cluster: 'example 6' }];

  expect(clusteredSpread(mixed)?.clusterCount).toBe(5);
});

test('a cluster an example, and one cluster of all, are no clusters', () => {
  const all = TEXTS.map(({ value }) => ({ value, cluster: 'one' }));
  const each = TEXTS.map(({ value }, index) => ({ value, cluster: `${index}` }));

  expect(clusteredSpread(all)).toBeNull();
  expect(clusteredSpread(each)).toBeNull();
  expect(spreadOf(each, ONCE)).toEqual(spreadOf(all, ONCE));
});

test('without clusters right or wrong has the interval of Wilson, a score in between that of its error', () => {
  const scores = (values: readonly number[]) => values.map((value) => ({ value, cluster: null }));
  const partly = { isBinary: false, isAskedOnce: true };

  expect(spreadOf([{ value: 1, cluster: null }], ONCE).ci?.[0]).toBeCloseTo(0.2065, 3);
  expect(spreadOf(scores([0.4, 0.5, 0.6]), partly).ci).toEqual([
    expect.closeTo(0.5 - 1.959964 * (0.1 / Math.sqrt(3)), 5) as number,
    expect.closeTo(0.5 + 1.959964 * (0.1 / Math.sqrt(3)), 5) as number,
  ]);
  // Never beyond what a score can be.
  expect(spreadOf(scores([0.5, 1, 0]), partly).ci).toEqual([0, 1]);
  expect(spreadOf([], ONCE)).toMatchObject({ score: 0, stderr: null });
});

test('rewards of an environment that lie beyond 0 and 1 are not cut there', () => {
  const far = (values: readonly number[], clusters: boolean) =>
    spreadOf(
      values.map((value, index) => ({ value, cluster: clusters ? String(index >> 1) : null })),
      { isBinary: false, isAskedOnce: true },
    );
  for (const clusters of [false, true]) {
    for (const values of [
      [-1, -0.5, -1, -0.5],
      [3, 4, 4, 4],
      [-0.1, -0.1, -0.1, -0.1],
    ]) {
      const { score, stderr, ci } = far(values, clusters);
      expect(ci?.[0]).toBeCloseTo(score - 1.959964 * (stderr ?? NaN), 5);
      expect(ci?.[1]).toBeCloseTo(score + 1.959964 * (stderr ?? NaN), 5);
    }
  }
});

test('none right in several samples of eight examples is not certain', () => {
  const none = Array.from({ length: 8 }, () => ({ value: 0, cluster: null }));

  const { score, stderr, ci } = spreadOf(none, { isBinary: true, isAskedOnce: false });

  expect({ score, stderr }).toEqual({ score: 0, stderr: 0 });
  expect(ci).toEqual(wilsonInterval(0, 8));
});

test('clusters that all agree are their own trials', () => {
  const agreeing = TEXTS.map(({ cluster }) => ({ value: 1, cluster }));

  expect(spreadOf(agreeing, ONCE)).toMatchObject({ num_clusters: 3, ci: wilsonInterval(3, 3) });
});
