import { withNews } from '../../../src/core/cell-news';

test('all that a cell says goes with when it was said first, and its beginning before it', () => {
  let minute = 0;
  const sent: object[] = [];
  const now = () => new Date(Date.UTC(2026, 0, 1, 0, minute));
  const say = withNews({ evaluator: 'never', step: 2 }, (detail) => sent.push(detail), now);
  for (const detail of [{ done: 1 }, { done: 1 }, undefined, { done: 2 }, { waiting: null }]) {
    minute += 1;
    say(detail);
  }

  const at = (hour: number) => ({
    cell: { evaluator: 'never', step: 2, newsAt: `2026-01-01T00:0${hour}:00.000Z` },
  });
  expect(sent).toEqual([at(0), { done: 1, ...at(1) }, { done: 2, ...at(4) }, { waiting: null, ...at(5) }]);
});
