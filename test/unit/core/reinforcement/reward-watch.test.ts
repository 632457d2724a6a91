import { watchReward } from '../../../../src/core/reinforcement/reward-watch';

const KEY = 'test/environments/accuracy';

function score(step: number, value: number | null, stderr: number | null = 0.03) {
  return { step, key: KEY, value, stderr, n: 200, higherIsBetter: true };
}

/** Rewards that rise, or fall, evenly over forty steps. */
function metrics(from: number, to: number) {
  return Array.from({ length: 40 }, (_, index) => ({
    step: index + 1,
    'env/all/reward/total': from + ((to - from) * index) / 39,
  }));
}

test('raises an alarm where the held-out score falls while the reward rises', () => {
  const alarm = watchReward(score(40, 0.5), [score(0, 0.4), score(20, 0.8)], metrics(0.4, 0.9));

  expect(alarm).toMatchObject({ step: 40, since: 20, key: KEY });
  expect(alarm?.text).toContain('fell from 0.8 at step 20 to 0.5 at step 40');
});

test.each([
  ['chance may explain the fall', score(40, 0.75), [score(20, 0.8)], metrics(0.4, 0.9)],
  ['the reward fell as well', score(40, 0.5), [score(20, 0.8)], metrics(0.9, 0.4)],
  ['it is the first score', score(40, 0.5), [], metrics(0.4, 0.9)],
  ['only later steps were better', score(20, 0.5), [score(40, 0.8)], metrics(0.4, 0.9)],
  ['nobody knows how sure it is', score(40, 0.5, null), [score(20, 0.8)], metrics(0.4, 0.9)],
  ['the evaluator failed', score(40, null), [score(20, 0.8)], metrics(0.4, 0.9)],
  ['nothing was trained', score(40, 0.5), [score(20, 0.8)], []],
  [
    'a few problems were all solved before, and nearly all are',
    { ...score(40, 0.9, 0.05), clusters: 8 },
    [{ ...score(20, 1, 0), clusters: 8 }],
    metrics(0.4, 0.9),
  ],
])('stays quiet where %s', (_, latest, earlier, rows) => {
  expect(watchReward(latest, earlier, rows)).toBeNull();
});
