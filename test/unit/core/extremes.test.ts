import { largestOf, smallestOf } from '../../../src/core/extremes';
import { samplingMetrics } from '../../../src/core/reinforcement/staleness';
import { PromptScores } from '../../../src/engines/local/compute/sampling-prompt-scores';
import { mergeChunkResults } from '../../../src/engines/tinker/chunks';
import { policyAges } from '../../../src/training/reinforcement/policy-ages';

/** More than the stack holds as arguments of one call. */
const COUNT = 200_000;
const count = <Value>(make: (index: number) => Value) =>
  Array.from({ length: COUNT }, (_, index) => make(index));

test('extremes are those of Math, of any number of values', () => {
  const values = [3, -1, 7, 0];

  expect([largestOf(values), smallestOf(values)]).toEqual([7, -1]);
  expect([largestOf([]), smallestOf([])]).toEqual([Math.max(), Math.min()]);
  expect([largestOf([1, NaN, 2]), smallestOf([1, NaN, 2])]).toEqual([NaN, NaN]);
  expect(largestOf(new Map(count((index) => [index, index])).values())).toBe(COUNT - 1);
});

test('metrics of a step take any number of groups', () => {
  expect(samplingMetrics(count((index) => ({ policyVersion: index, seconds: index })))).toMatchObject({
    'sampling_client/step_max': COUNT - 1,
    'sampling_client/step_min': 0,
  });
  const transitions = (policyVersion: number) => [
    {
      observationTokens: [],
      actionTokens: [1],
      logprobs: [0],
      reward: 0,
      isDone: true,
      metrics: {},
      logs: {},
      stopReason: 'stop' as const,
      policyVersion,
    },
  ];
  const groups = count((index) => ({
    id: String(index),
    tags: [],
    rollouts: [{ transitions: transitions(index), finalReward: 0, metrics: {}, stopReason: null }],
  }));
  expect(Object.values(policyAges(groups, 1)).slice(0, 2)).toEqual([COUNT - 1, 0]);
});

test('a step of any number of chunks has its metrics', () => {
  const results = count((index) => ({ logprobs: [], metrics: { 'a:max': index, 'a:min': index } }));

  expect(mergeChunkResults(results).metrics).toEqual({ 'a:max': COUNT - 1, 'a:min': 0 });
});

test('a prompt of any length is scored', () => {
  const scores = new PromptScores({ prompt: [1], promptLogprobs: true } as never, 0);

  scores.accept({ logprobs: count(() => -1), top: null, targets: null, alternatives: null });

  expect(scores.result().promptLogprobs).toHaveLength(COUNT + 1);
});
