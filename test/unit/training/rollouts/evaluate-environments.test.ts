import type { SampleRequest } from '../../../../src/core/sampling';
import { arithmeticEnvironments } from '../../../../src/training/environments/arithmetic';
import type { EnvironmentDataset } from '../../../../src/training/environments/environment-dataset';
import { computeLogprobs } from '../../../../src/training/rollouts/compute-logprobs';
import { evaluateEnvironments } from '../../../../src/training/rollouts/evaluate-environments';
import { createSampleSeeds } from '../../../../src/training/rollouts/sample-seeds';
import { sampleGroup } from '../../../../src/training/rollouts/sample-group';
import { scriptedPolicy, siteWith, sumAskedFor, tokenizer } from './scripted-policy';

const { signal } = new AbortController();
const testSet = arithmeticEnvironments({ digits: 2, formatPenalty: 0.1 }).test;
if (testSet === null) throw new Error('arithmetic has no test set');
const heldOut: EnvironmentDataset = testSet;

test('says how held-out environments went, under the field’s names', async () => {
  const policy = scriptedPolicy((prompt) => {
    const sum = sumAskedFor(prompt);
    return `${sum % 2 === 0 ? sum : 0}<|end|>`;
  });

  const { metrics, totals, rolloutCount } = await evaluateEnvironments(
    siteWith(policy, { temperature: 0 }),
    { dataset: heldOut, limit: 40, seed: 1, policyVersion: 3 },
    { signal },
  );

  const even = metrics['test/env/all/correct'] ?? -1;
  expect(even).toBeGreaterThan(0);
  expect(metrics).toMatchObject({ 'test/env/all/reward/total': even, 'test/env/all/total_episodes': 40 });
  expect(totals).toEqual({ total_samples: 40, total_correct: 40 * even, accuracy: even });
  expect(rolloutCount).toBe(40);
  expect(policy.requests.every(({ params }) => params.temperature === 0)).toBe(true);
});

test('rollouts that fail count as wrong, and say why', async () => {
  const broken: EnvironmentDataset = {
    ...heldOut,
    groupAt: (index) => {
      const group = heldOut.groupAt(index);
      return index % 2 === 0
        ? group
        : {
            ...group,
            make: () => {
              throw new Error('no');
            },
          };
    },
  };
  const site = siteWith(
    scriptedPolicy((prompt) => `${sumAskedFor(prompt)}<|end|>`),
    { strategy: { type: 'min-viable', maxRetries: 0, minSuccessful: 1 } },
  );

  const evaluated = await evaluateEnvironments(
    site,
    { dataset: broken, limit: 10, seed: 1, policyVersion: 0 },
    { signal },
  );

  expect(evaluated.totals).toEqual({ total_samples: 10, total_correct: 5, accuracy: 0.5 });
  expect(evaluated.errorTypes).toEqual(Array.from({ length: 5 }, () => 'environment_error'));
});

test('re-scoring gives each action the other weights’ log-probabilities, one request a conversation', async () => {
  let asked = 0;
  const scorer = {
    sample: async ({ prompt }: { readonly prompt: readonly number[] }) => {
      asked += 1;
      return {
        sequences: [],
        promptLogprobs: prompt.map((token, index) => (index === 0 ? null : -token - index / 1000)),
      };
    },
  };
  const talker = scriptedPolicy(() => 'a<|end|>');
  let turn = 0;
  const group = await sampleGroup(
    siteWith(talker),
    {
      group: {
        id: 'two-turns',
        tags: [],
        make: () => ({
          initialObservation: () => ({ messages: [{ role: 'user', content: 'go' }] }),
          step: () => ({ reward: 0, isDone: ++turn >= 2, nextMessages: [{ role: 'user', content: 'on' }] }),
        }),
      },
      groupSize: 1,
      seeds: createSampleSeeds(0, 0),
      policyVersion: 0,
    },
    { signal },
  );

  const rescored = await computeLogprobs(scorer, group, { signal });

  const [first, second] = rescored.rollouts[0]?.transitions ?? [];
  expect(asked).toBe(1);
  expect(tokenizer.decode(second?.actionTokens ?? [])).toBe('a<|end|>');
  for (const each of [first, second]) {
    const start = each?.observationTokens.length ?? 0;
    expect(each?.logprobs).toEqual(each?.actionTokens.map((token, index) => -token - (start + index) / 1000));
  }
  await expect(
    computeLogprobs({ sample: async () => ({ sequences: [], promptLogprobs: null }) }, group, { signal }),
  ).rejects.toThrow('needs an engine that gives them');
});

test('a service whose sampler gives no log-probabilities is asked for them once more, where the run says so', async () => {
  const silent = {
    sample: async ({ prompt, promptLogprobs }: SampleRequest) => ({
      sequences: [
        {
          tokens: tokenizer.encode('7<|end|>', { allowSpecial: true }),
          logprobs: null,
          stopReason: 'stop' as const,
        },
      ],
      promptLogprobs: promptLogprobs ? prompt.map((_, index) => (index === 0 ? null : -index)) : null,
    }),
  };
  const task = { group: heldOut.groupAt(0), groupSize: 2, seeds: createSampleSeeds(0, 0), policyVersion: 0 };

  const group = await sampleGroup(siteWith(silent, { computeLogprobs: true }), task, { signal });

  const [turn] = group.rollouts[1]?.transitions ?? [];
  const start = turn?.observationTokens.length ?? 0;
  expect(turn?.logprobs).toEqual([-start, -start - 1]);
  await expect(sampleGroup(siteWith(silent), task, { signal })).rejects.toThrow(
    '0 finite log-probs for 2 tokens',
  );
});
