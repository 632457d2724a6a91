import { outcomeOf } from '../../../../src/training/rollouts/rollout-turns';

const step = { reward: 1, isDone: true, nextMessages: [] };

test('of a log that nobody reads to its end the beginning is kept', () => {
  const { logs } = outcomeOf(
    { ...step, logs: { page: 'x'.repeat(1_000_003), short: 'y', list: [1] } },
    false,
  );

  expect(logs).toMatchObject({ short: 'y', list: '[1]' });
  expect(String(logs?.['page']).slice(1_000_000 - 1)).toBe('x… and 3 characters more, which are not kept');
});
