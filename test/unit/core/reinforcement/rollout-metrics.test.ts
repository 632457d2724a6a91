import { endRollout } from '../../../../src/core/reinforcement/limits';
import type { Transition } from '../../../../src/core/reinforcement/rollout';
import {
  countRolloutErrors,
  NO_ROLLOUT_ERRORS,
  rolloutErrorMetrics,
} from '../../../../src/core/reinforcement/rollout-errors';
import { rolloutMetrics } from '../../../../src/core/reinforcement/rollout-metrics';
import { groupOf, rollout, turn } from './sample-rollouts';

test('counts tokens a turn, turns a rollout, and averages what turns and rollouts report', () => {
  const rollouts = [
    rollout([turn([1, 2], [3], { metrics: { correct: 1 }, reward: 1 }), turn([1, 2, 3, 4], [5, 6, 7])], {
      metrics: { win: 1 },
    }),
    rollout([turn([1, 2], [3, 4])], {
      finalReward: -0.5,
      metrics: { win: 0, correct: 0 },
      stopReason: 'max_turns',
    }),
  ];

  expect(rolloutMetrics([groupOf([], { rollouts })])).toEqual({
    'env/all/ac_tokens_per_turn': 2,
    'env/all/ob_tokens_per_turn': 8 / 3,
    'env/all/turns_per_episode': 1.5,
    'env/all/total_episodes': 2,
    'env/all/total_turns': 3,
    'env/all/total_ac_tokens': 6,
    'env/all/total_ob_tokens': 8,
    'env/all/reward/total': 0.25,
    'env/all/correct': 0.5, // of the two that report it, not of the five that might
    'env/all/win': 0.5,
    'env/all/by_group/frac_mixed': 1,
    'env/all/by_group/frac_all_good': 0,
    'env/all/by_group/frac_all_bad': 0,
  });
});

test('what is noted only where it happened is a share of all rollouts or turns, and not the mean of ones', () => {
  const ended = (transitions: Transition[], reason: string) => endRollout(transitions, reason, 0);
  const cut = turn([1], [2], { metrics: { max_tokens_reached: 1 }, stopReason: 'length' });
  const bad = turn([1], [2], {
    metrics: { parse_error: 1, tool_calls: 2, 'tool_error/validation_failed': 1 },
  });
  const rollouts = [
    ended([cut], 'max_tokens'),
    ended([bad, turn([1, 2], [3], { metrics: { correct: 1 } })], 'completed'),
    ended([turn([1], [2], { metrics: { correct: 0 } })], 'completed'),
    { ...ended([], 'context_overflow'), metrics: { context_overflow: 1 } },
  ];

  expect(rolloutMetrics([groupOf([], { rollouts })])).toMatchObject({
    'env/all/total_episodes': 4,
    'env/all/total_turns': 5,
    'env/all/stop/completed': 0.5,
    'env/all/stop/max_tokens': 0.25,
    'env/all/stop/context_overflow': 0.25,
    'env/all/max_tokens_reached': 0.25,
    'env/all/context_overflow': 0.25,
    'env/all/parse_error': 0.2,
    'env/all/tool_calls': 0.5,
    'env/all/tool_error/validation_failed': 0.25,
    'env/all/correct': 0.5,
  });
});

test('the common ends are told also where no rollout ended so: their rows depend on no data', () => {
  const metrics = rolloutMetrics([groupOf([], { rollouts: [endRollout([turn([1], [2])], 'max_turns', 0)] })]);

  expect(metrics).toMatchObject({
    'env/all/stop/max_turns': 1,
    'env/all/stop/completed': 0,
    'env/all/stop/max_tokens': 0,
    'env/all/max_tokens_reached': 0,
  });
});

test.each([
  [[0.5, 0.5], 'frac_all_good'],
  [[0.75], 'frac_all_good'],
  [[0.49, 0.49], 'frac_all_bad'],
  [[0.49, 0.5], 'frac_mixed'],
])('a group with rewards %j counts in %s', (rewards, key) => {
  const metrics = rolloutMetrics([groupOf(rewards)]);

  expect(metrics[`env/all/by_group/${key}`]).toBe(1);
});

describe('tags', () => {
  const good = groupOf([1, 1], { tags: ['math', 'math', 'all tasks'] });
  const bad = groupOf([0, 0], { tags: ['tool', 'all tasks'] });

  test('split the metrics once any of them names some groups only; a tag twice counts once', () => {
    const metrics = rolloutMetrics([good, bad]);

    expect(metrics).toMatchObject({
      'env/math/reward/total': 1,
      'env/math/total_episodes': 2,
      'env/math/by_group/frac_all_good': 1,
      'env/tool/reward/total': 0,
      'env/tool/by_group/frac_all_bad': 1,
      'env/all tasks/reward/total': 0.5,
      'env/all/reward/total': 0.5,
      'env/all/by_group/frac_all_good': 0.5,
    });
  });

  test('that name every group say nothing new', () => {
    expect(Object.keys(rolloutMetrics([good])).every((key) => key.startsWith('env/all/'))).toBe(true);
  });

  test('a tag "all" does not hide the metrics of all groups', () => {
    const metrics = rolloutMetrics([groupOf([1, 1], { tags: ['all'] }), bad]);

    expect(metrics['env/all/total_episodes']).toBe(4);
  });
});

test('an environment cannot overwrite what is counted here', () => {
  const rollouts = [
    rollout([turn([1], [2], { metrics: { 'reward/total': 99, total_turns: 99 }, reward: 1 })]),
  ];

  expect(rolloutMetrics([groupOf([], { rollouts })])).toMatchObject({
    'env/all/reward/total': 1,
    'env/all/total_turns': 1,
  });
});

test('a group in which every rollout failed is no group', () => {
  const metrics = rolloutMetrics([groupOf([1, 1]), groupOf([], { tags: ['lost'] })]);

  expect(metrics['env/all/by_group/frac_all_good']).toBe(1);
  expect(Object.keys(metrics).some((key) => key.startsWith('env/lost/'))).toBe(false);
});

test('rollout errors add up over the run, and are absent where there were none', () => {
  const afterSuccess = countRolloutErrors(NO_ROLLOUT_ERRORS, { errorTypes: [], isSkipped: false });
  const afterRetries = countRolloutErrors(afterSuccess, {
    errorTypes: ['timeout', 'sandbox', 'timeout'],
    isSkipped: false,
  });
  const afterSkip = countRolloutErrors(afterRetries, { errorTypes: ['timeout'], isSkipped: true });

  expect(rolloutErrorMetrics(afterSuccess)).toEqual({});
  expect(rolloutErrorMetrics(afterRetries)).toEqual({
    'rollout_errors/timeout': 2,
    'rollout_errors/sandbox': 1,
    'rollout_errors/total': 3,
  });
  expect(rolloutErrorMetrics(afterSkip)).toEqual({
    'rollout_errors/timeout': 3,
    'rollout_errors/sandbox': 1,
    'rollout_errors/total': 4,
    'rollout_errors/groups_skipped': 1,
  });
});
