import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReinforcementConfig } from '../../../../src/config/reinforcement-config';
import { scoreInterval } from '../../../../src/core/gates/score-interval';
import { wilsonInterval } from '../../../../src/core/statistics/wilson-interval';
import { pluginEnvironments } from '../../../../src/training/environments/plugin-environments';
import { evaluateTestSet } from '../../../../src/training/reinforcement/test-set';
import { scriptedPolicy, siteWith, tokenizer } from '../rollouts/scripted-policy';

const CONFIG = ReinforcementConfig.parse({
  kind: 'rl',
  model: 'everstep/tiny',
  environment: { type: 'arithmetic' },
});

const tagged = {
  problems: ['a', 'b', 'c'],
  testProblems: ['a', 'b', 'c'],
  tags: (problem: unknown) => ['all_of_them', problem === 'a' ? 'rare' : 'often'],
  make: () => ({
    initialObservation: () => ({ messages: [{ role: 'user', content: 'say x' }] }),
    step: () => ({ reward: 1, isDone: true, nextMessages: [] }),
  }),
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-test-set-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test('a row of a tag counts the rollouts of the tag, a row of all the rollouts of all', async () => {
  const plugins = { file: 'everstep.config.ts', environments: new Map([['tagged', tagged]]) };
  const asked = { environment: 'tagged', options: {}, testSize: 0 };
  const dataset = await pluginEnvironments(plugins, asked);
  const site = siteWith(scriptedPolicy(() => 'x<|end|>'));

  const scores = await evaluateTestSet(
    { config: CONFIG, dataset },
    { type: 'rlTestSet', name: 'held_out', groupSize: 2, concurrency: 4 },
    { ...site, tokenizer, folder, step: 0, signal: new AbortController().signal },
  );

  expect(Object.fromEntries(scores.map(({ metric, n }) => [metric, n]))).toMatchObject({
    'env/rare/reward/total': 2,
    'env/often/reward/total': 4,
    'env/all_of_them/reward/total': 6,
    'env/all/reward/total': 6,
  });
});

test('several rollouts of one problem tell no more than the problem: their standard error is of problems', async () => {
  const known = {
    problems: ['a', 'b'],
    testProblems: ['easy', 'hard'],
    make: (problem: unknown) => ({
      initialObservation: () => ({ messages: [{ role: 'user', content: String(problem) }] }),
      step: () => {
        const reward = Number(problem === 'easy');
        return { reward, isDone: true, nextMessages: [], metrics: { correct: reward } };
      },
    }),
  };
  const plugins = { file: 'everstep.config.ts', environments: new Map([['known', known]]) };
  const dataset = await pluginEnvironments(plugins, { environment: 'known', options: {}, testSize: 0 });
  const site = siteWith(scriptedPolicy(() => 'x<|end|>'));

  const scores = await evaluateTestSet(
    { config: CONFIG, dataset },
    { type: 'rlTestSet', name: 'held_out', groupSize: 8, concurrency: 4 },
    { ...site, tokenizer, folder, step: 0, signal: new AbortController().signal },
  );

  for (const metric of ['accuracy', 'env/all/correct', 'env/all/reward/total']) {
    // Of two problems with means 1 and 0: their deviation √½ over √2. Sixteen independent rollouts would have 0.125.
    const { value, stderr, n } = scores.find((score) => score.metric === metric) ?? {};
    expect({ value, stderr: stderr?.toFixed(9), n }).toEqual({ value: 0.5, stderr: '0.500000000', n: 16 });
  }
});

test('where every rollout is right the interval is that of the problems, not of their rollouts', async () => {
  const solved = {
    problems: ['a'],
    testProblems: ['x', 'y', 'z'],
    make: (problem: unknown) => ({
      initialObservation: () => ({ messages: [{ role: 'user', content: String(problem) }] }),
      step: () => ({ reward: 1, isDone: true, nextMessages: [], metrics: { correct: 1 } }),
    }),
  };
  const plugins = { file: 'everstep.config.ts', environments: new Map([['solved', solved]]) };
  const dataset = await pluginEnvironments(plugins, { environment: 'solved', options: {}, testSize: 0 });

  const scores = await evaluateTestSet(
    { config: CONFIG, dataset },
    { type: 'rlTestSet', name: 'held_out', groupSize: 8, concurrency: 4 },
    {
      ...siteWith(scriptedPolicy(() => 'x<|end|>')),
      ...{ tokenizer, folder, step: 0, signal: new AbortController().signal },
    },
  );

  for (const metric of ['accuracy', 'env/all/correct', 'env/all/reward/total']) {
    const row = scores.find((score) => score.metric === metric);
    expect(row).toMatchObject({ value: 1, stderr: 0, n: 24, clusters: 3 });
    const [low, high] = (row && scoreInterval({ ...row, value: 1 }, 0.95)) ?? [];
    expect(low).toBeCloseTo(wilsonInterval(3, 3)?.[0] ?? NaN, 6);
    expect(high).toBe(1);
  }
});
