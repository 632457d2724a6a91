import { median, quantile, summarizeWork } from '../../../bench/work-items';
import type { WorkItem } from '../../../bench/work-items';

function work(...times: readonly (readonly [WorkItem['kind'], number, number])[]): WorkItem[] {
  return times.map(([kind, startMs, endMs]) => ({ kind, startMs, endMs }));
}

test('counts idle time between requests as what orchestration costs', () => {
  const items = work(
    ['forwardBackward', 100, 140],
    ['optimStep', 142, 150],
    ['forwardBackward', 170, 210],
    ['optimStep', 210, 220],
  );

  const summary = summarizeWork(items);

  expect(summary).toMatchObject({ stepCount: 2, wallMs: 120, busyMs: 98, longGaps: [20], shortGapsMs: 2 });
  expect(summary.ratio).toBeCloseTo(120 / 98);
});

test('refuses to give a ratio where no work was done', () => {
  expect(() => summarizeWork([])).toThrow('no work');
});

test.each([
  { values: [3, 1, 2], middle: 2 },
  { values: [4, 1, 2, 3], middle: 2.5 },
])('finds the median of $values', ({ values, middle }) => {
  expect(median(values)).toBe(middle);
});

test('finds quantiles of unsorted values', () => {
  const values = Array.from({ length: 100 }, (_, index) => 99 - index);

  expect([0, 0.5, 0.99, 1].map((share) => quantile(values, share))).toEqual([0, 50, 99, 99]);
});
