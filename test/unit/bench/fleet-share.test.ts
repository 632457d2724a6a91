import { shareOf } from '../../../bench/fleet-share';

const WINDOW = { fromMs: 1000, toMs: 2000 };

function everyMs(stepMs: number, { from, to }: { from: number; to: number }): number[] {
  return Array.from({ length: Math.floor((to - from) / stepMs) + 1 }, (_, index) => from + index * stepMs);
}

test('gives a run that never waits 1, wherever in a step the window begins', () => {
  for (const from of [0, 30, 70]) {
    const { share } = shareOf([everyMs(100, { from, to: 3000 })], WINDOW, 100);

    expect(share).toBeCloseTo(1, 6);
  }
});

test('counts what a run stood still, and a run without a row as nothing done', () => {
  const whole = everyMs(100, { from: 0, to: 3000 });
  const half = everyMs(100, { from: 0, to: 1400 });

  const { share, shareOfSlowest, withoutRow } = shareOf([whole, half, []], WINDOW, 100);

  expect(share).toBeCloseTo((1 + 0.5 + 0) / 3, 6);
  expect(shareOfSlowest).toBe(0);
  expect(withoutRow).toBe(1);
});

test('gives a run nothing for a step that stands still from before the window to its end', () => {
  expect(shareOf([everyMs(100, { from: 0, to: 500 })], WINDOW, 100).share).toBe(0);
});

test('knows how slow a run is whose steps all take twice as long', () => {
  expect(shareOf([everyMs(200, { from: 0, to: 3000 })], WINDOW, 100).share).toBeCloseTo(0.5, 1);
});
