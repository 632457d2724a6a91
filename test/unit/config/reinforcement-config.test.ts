import { parseTrainingConfig } from '../../../src/config/parse-training-config';

const LEAST = { kind: 'rl', model: 'everstep/tiny', environment: { type: 'arithmetic' } };

function parse(more: object) {
  return parseTrainingConfig({ ...LEAST, ...more }, 'a.yaml');
}

test('has the field’s defaults', () => {
  expect(parse({})).toMatchObject({
    lossFunction: 'importance_sampling',
    temperature: 1,
    numSubsteps: 1,
    maxStepsOffPolicy: 0,
    klPenaltyCoef: 0,
    saveEvery: 20,
    lrSchedule: { type: 'constant' },
    rolloutErrorTolerance: { type: 'fail-fast' },
    removeConstantRewardGroups: false,
    numGroupsToLog: 4,
  });
});

test('takes a strategy by its name', () => {
  expect(parse({ rolloutErrorTolerance: 'retry' })).toMatchObject({
    rolloutErrorTolerance: { type: 'retry', maxRetries: 3 },
  });
});

test.each([
  [{ lossConfig: { clip: 1 } }, 'Unknown setting "clip" of loss importance_sampling'],
  [{ lossFunction: 'ppo', lossConfig: { clip_low_threshold: 2 } }, 'is above clip_high_threshold'],
  [{ groupsPerBatch: 10, streamedMinibatches: 4 }, 'groupsPerBatch 10 is not divided'],
  [{ groupsPerBatch: 4, streamedMinibatches: 3 }, 'numSubsteps 1 × streamedMinibatches 3'],
  [{ groupsPerBatch: 4, numSubsteps: 5 }, 'Set numSubsteps to at most 4'],
  [{ groupSize: 1 }, 'groupSize is 1: an advantage'],
  [{ groupSize: 1, klPenaltyCoef: 1, removeConstantRewardGroups: true }, 'leaves out every group'],
  [{ temperature: 0 }, 'temperature is 0, so the 8 rollouts'],
  [{ lossFunction: 'grpo' }, 'importance_sampling, ppo, cispo, dro, or { plugin: … }.'],
  [{ klReference: { model: 'x' } }, 'klPenaltyCoef is 0'],
  [{ group_size: 4 }, 'write "groupSize"'],
  [{ batchSize: 4 }, 'Unknown key "batchSize"'],
])('refuses %j', (more, words) => {
  expect(() => parse(more)).toThrow(words);
});

test.each([
  { groupSize: 1, klPenaltyCoef: 0.1 },
  { groupSize: 1, klPenaltyCoef: 0.1, temperature: 0 },
  { groupSize: 1, advantages: { discount: 0.9 } },
  { groupSize: 1, lossFunction: { plugin: 'mine' } },
  { groupsPerBatch: 4, numSubsteps: 4 },
  { evaluators: [{ type: 'rlTestSet' }] },
])('takes %j', (more) => {
  expect(parse(more)).toMatchObject({ kind: 'rl' });
});

const RL_TEST_SET = { type: 'rlTestSet', name: 'held_out' };

test.each([
  { evaluators: [RL_TEST_SET] },
  { infrequentEvaluators: [RL_TEST_SET] },
  { schedules: [{ name: 'often', every: { steps: 2 }, evaluators: [RL_TEST_SET] }] },
])('a run without environments refuses %j', (more) => {
  const config = { kind: 'sft', model: 'everstep/tiny', dataset: { path: '/a.jsonl' }, ...more };
  expect(() => parseTrainingConfig(config, 'a.yaml')).toThrow(
    'a.yaml: evaluators: "held_out" is an rlTestSet, which measures the environments of a run of kind rl',
  );
});
