import { meanKl, penalizeKl } from '../../../../src/core/reinforcement/kl-penalty';
import { prePostMetrics, sampleTrainMetrics } from '../../../../src/core/reinforcement/policy-metrics';
import { rolloutDatums } from '../../../../src/core/reinforcement/rollout-datums';
import { rollout, turn } from './sample-rollouts';

/** Targets 2 | 3 4 | 5 | 6 with mask 0 | 1 1 | 0 | 1 and log-probabilities 0 | −¼ −½ | 0 | −¼. */
const DATUMS = rolloutDatums(rollout([turn([1, 2], [3, 4]), turn([1, 2, 3, 4, 5], [6])]), 1);
const SILENT = rolloutDatums(rollout([turn([1, 2], [])]), 1);
const CENTRED = { coefficient: 2, discount: 0, isCentred: true };

test('compares sampler and trainer on the tokens the policy wrote', () => {
  expect(sampleTrainMetrics(DATUMS, [[-9, -0.5, -0.5, -9, -0.75]])).toEqual({
    'optim/kl_sample_train_v1': 0.25,
    'optim/kl_sample_train_v2': (0.25 ** 2 + 0.5 ** 2) / 6,
    'optim/entropy': 1 / 3,
  });
});

test('compares sampler and updated policy', () => {
  expect(prePostMetrics(DATUMS, [[-9, -0.5, -0.5, -9, -0.75]])).toEqual({
    kl_pre_post_v1: 0.25,
    kl_pre_post_v2: (0.25 ** 2 + 0.5 ** 2) / 6,
  });
});

test('says nothing where the policy wrote nothing', () => {
  expect(sampleTrainMetrics(SILENT, [[-1]])).toEqual({});
  expect(prePostMetrics([], [])).toEqual({});
  expect(meanKl(SILENT, [[-1]])).toBe(0);
});

describe('KL penalty', () => {
  const reference = [[-9, -0.5, -0.5, -9, -0.75]]; // differences ¼, 0, ½; mean ¼

  test('moves advantage from tokens that left the reference to those that did not', () => {
    const { datums, kl } = penalizeKl(DATUMS, reference, CENTRED);

    expect(kl).toBe(0.25);
    expect(datums.map(({ advantages }) => [...advantages])).toEqual([[0, 1, 1.5, 0, 0.5]]);
  });

  test('is charged as it is where it is the signal', () => {
    const { datums } = penalizeKl(DATUMS, reference, { ...CENTRED, isCentred: false });

    expect(datums.map(({ advantages }) => [...advantages])).toEqual([[0, 0.5, 1, 0, 0]]);
  });

  test('discounts what comes after, and never gives a prompt token an advantage', () => {
    const { datums } = penalizeKl(DATUMS, reference, { ...CENTRED, discount: 0.5, isCentred: false });

    // Terms 0 | −½ 0 | 0 | −1: the second one is 3 tokens before the last, the third 2 before.
    expect(datums.map(({ advantages }) => [...advantages])).toEqual([[0, 1 - 0.5 - 0.125, 1 - 0.25, 0, 0]]);
  });

  test('is in what is sent, and leaves the datums it was given alone', () => {
    const { datums } = penalizeKl(DATUMS, reference, CENTRED);

    expect(datums[0]?.datum.lossInputs['advantages']).toBe(datums[0]?.advantages);
    expect([...(DATUMS[0]?.advantages ?? [])]).toEqual([0, 1, 1, 0, 1]);
  });

  test('ignores what a reference says of prompt tokens, −∞ included', () => {
    const { datums, kl } = penalizeKl(DATUMS, [[-Infinity, -0.5, -0.5, NaN, -0.75]], CENTRED);

    expect(kl).toBe(0.25);
    expect(datums.flatMap(({ advantages }) => [...advantages]).every(Number.isFinite)).toBe(true);
  });
});

test.each([
  ['shifted by one', [[-1, -1, -1, -1, -1, -1]]],
  ['of too few datums', []],
  ['of too many datums', [[-1, -1, -1, -1, -1], [-1]]],
])('refuses log-probabilities %s', (_name, logprobs) => {
  expect(() => sampleTrainMetrics(DATUMS, logprobs)).toThrow(/log-probabilities/);
  expect(() => penalizeKl(DATUMS, logprobs, CENTRED)).toThrow(/log-probabilities/);
});
