import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { EnvironmentConfig } from '../../../../src/config/environment-config';
import { ReinforcementConfig } from '../../../../src/config/reinforcement-config';
import type { Message } from '../../../../src/core/conversation';
import { scoreInterval } from '../../../../src/core/gates/score-interval';
import { wilsonInterval } from '../../../../src/core/statistics/wilson-interval';
import { compareResults } from '../../../../src/evaluation/compare/compare-results';
import { tokenUsage } from '../../../../src/evaluation/inspect/export/token-usage';
import { loadResult, loadTrajectories } from '../../../../src/stores/eval-store';
import { buildEnvironments } from '../../../../src/training/environments/build-environments';
import { pluginEnvironments } from '../../../../src/training/environments/plugin-environments';
import { defineTool } from '../../../../src/training/environments/tools/tool';
import { createToolEnvironment } from '../../../../src/training/environments/tools/tool-environment';
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

const WORK = {
  tokenizer,
  step: 0,
  model: { name: 'everstep/tiny', path: 'tinker://m/sampler_weights/a' },
  signal: new AbortController().signal,
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
    { config: CONFIG, dataset, environmentCode: null },
    { type: 'rlTestSet', name: 'held_out', groupSize: 2, concurrency: 4 },
    { ...site, ...WORK, folder },
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
    { config: CONFIG, dataset, environmentCode: null },
    { type: 'rlTestSet', name: 'held_out', groupSize: 8, concurrency: 4 },
    { ...site, ...WORK, folder },
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
    { config: CONFIG, dataset, environmentCode: null },
    { type: 'rlTestSet', name: 'held_out', groupSize: 8, concurrency: 4 },
    {
      ...siteWith(scriptedPolicy(() => 'x<|end|>')),
      ...{ ...WORK, folder },
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

test('of a mixture a metric counts the rollouts that have it, and nothing is scored as wrong that no environment calls so', async () => {
  const own = (isGraded: boolean, testProblems: readonly string[]) => ({
    problems: ['a'],
    testProblems,
    make: () => ({
      initialObservation: () => ({ messages: [{ role: 'user', content: 'ask' }] }),
      step: () => ({
        ...{ reward: 1, isDone: true, nextMessages: [] },
        ...(isGraded && { metrics: { correct: 1 } }),
      }),
    }),
  });
  const environments = new Map([
    ['graded', own(true, ['a', 'b', 'c'])],
    ['rewarded', own(false, ['d', 'e', 'f', 'g', 'h'])],
  ]);
  const environment = EnvironmentConfig.parse({
    type: 'mixture',
    parts: ['graded', 'rewarded'].map((name) => ({
      environment: { type: 'plugin', environment: name, testSize: 0 },
    })),
  });
  const dataset = await buildEnvironments(environment, {
    readBenchmarkRows: () => Promise.reject(new Error('reads nothing')),
    plugins: { file: 'everstep.config.ts', benchmarks: new Map(), environments },
    seed: 0,
  });

  const scores = await evaluateTestSet(
    { config: { ...CONFIG, environment }, dataset, environmentCode: null },
    { type: 'rlTestSet', name: 'held_out', groupSize: 2, concurrency: 4 },
    { ...siteWith(scriptedPolicy(() => 'x<|end|>')), ...WORK, folder: join(folder, 'held_out') },
  );

  const row = (metric: string) => scores.find((score) => score.metric === metric);
  expect(row('env/all/correct')).toMatchObject({ value: 1, n: 6, clusters: 3 });
  expect(row('env/all/reward/total')).toMatchObject({ value: 1, n: 16, clusters: 8 });
  expect(row('env/rewarded/reward/total')).toMatchObject({ value: 1, n: 10 });
  expect(row('accuracy')).toBeUndefined();
  expect(await loadResult(folder, 'held_out')).toMatchObject({ score: 1, num_examples: 16, num_correct: 16 });
});

describe('what it leaves is a benchmark’s result', () => {
  const counting = {
    problems: ['a'],
    testProblems: ['2', '3', '5', '7'],
    make: (problem: unknown) => ({
      initialObservation: () => ({ messages: [{ role: 'user', content: `say ${String(problem)}` }] }),
      step: (action: Message) => {
        if (problem === '7' && action.content === 'odd') throw new Error('the environment broke');
        const isOdd = Number(problem) % 2 === 1;
        const correct = Number(action.content === (isOdd ? 'odd' : 'even'));
        return {
          reward: correct - 0.5,
          isDone: true,
          nextMessages: [],
          metrics: { correct },
          logs: { problem },
        };
      },
    }),
  };

  async function evaluate(
    step: number,
    reply: string,
    groupSize = 1,
    { environment = counting, code = null }: { environment?: object; code?: string | null } = {},
  ) {
    const plugins = {
      file: 'everstep.config.ts',
      environments: new Map([['counting', environment as never]]),
    };
    const dataset = await pluginEnvironments(plugins, { environment: 'counting', options: {}, testSize: 0 });
    const { sampler, renderer, contextLength } = siteWith(scriptedPolicy(() => `${reply}<|end|>`));
    const place = join(folder, String(step), 'held_out');
    const scores = await evaluateTestSet(
      { config: CONFIG, dataset, environmentCode: code },
      { type: 'rlTestSet', name: 'held_out', groupSize, concurrency: 4 },
      { sampler, renderer, contextLength, ...WORK, step, folder: place },
    );
    const result = await loadResult(join(folder, String(step)), 'held_out');
    const trajectories = await loadTrajectories(join(folder, String(step)), 'held_out');
    return { scores, result, trajectories };
  }

  test('with the score that is reported, an example a problem, and a rollout that failed as an error that counts 0', async () => {
    const { scores, result, trajectories } = await evaluate(0, 'odd');

    const accuracy = scores.find(({ metric }) => metric === 'accuracy');
    expect(accuracy).toMatchObject({ value: 0.5, n: 4 });
    expect(result).toMatchObject({
      ...{ name: 'held_out', score: 0.5, num_examples: 4, num_completed: 3, num_correct: 2, num_errors: 1 },
      ...{ ci: wilsonInterval(2, 4), score_completed: 2 / 3 },
      identity: { model: 'everstep/tiny', checkpoint: WORK.model.path, sampling: { numSamples: 1 } },
    });
    expect(trajectories.map(({ reward, error }) => [reward, error])).toEqual([
      [0, null],
      [1, null],
      [1, null],
      [0, expect.stringMatching(/^environment_error: the environment broke \(thrown at \/.*:\d+:\d+\)$/)],
    ]);
    expect(trajectories[1]).toMatchObject({
      turns: [
        { role: 'user', content: 'say 3', token_count: 0 },
        { role: 'assistant', content: 'odd', token_count: 4, metadata: { stop_reason: 'stop' } },
      ],
      metrics: { correct: 1, 'reward/total': 0.5 },
      logs: { stop_reason: 'completed', problem: '3' },
    });
  });

  test('with the calls of its turns as calls, and which of them a tool answered', async () => {
    const add = defineTool({
      ...{ name: 'add', description: 'Adds', parameters: z.object({ a: z.number() }) },
      run: ({ a }) => String(a + 1),
    });
    const environment = {
      ...{ problems: ['a'], testProblems: ['b'] },
      make: () =>
        createToolEnvironment({
          messages: [{ role: 'user', content: 'say 1' }],
          ...{ tools: [add], maxTurns: 2, grade: () => ({ reward: 1 }) },
        }),
    };

    const { trajectories } = await evaluate(0, '<|call|>add{"a":1}', 1, { environment });

    const [called, answered, last] = trajectories[0]?.turns.slice(1) ?? [];
    expect(called).toMatchObject({
      role: 'assistant',
      content: '',
      metadata: { role: 'assistant', tool_calls: [{ name: 'add', arguments: '{"a":1}' }] },
    });
    expect(answered).toMatchObject({ content: '2', metadata: { role: 'tool', name: 'add' } });
    expect(last?.metadata).toMatchObject({ tool_calls: [{ name: 'add' }] });
    // Each turn is counted with the whole prompt that it read.
    const [first = NaN, second = NaN] = [called, last].map((turn) => Number(turn?.metadata['prompt_tokens']));
    expect(first).toBeGreaterThan(0);
    expect(second).toBeGreaterThan(first + (called?.token_count ?? NaN));
    expect(tokenUsage(trajectories[0]?.turns ?? []).input_tokens).toBe(first + second);
  });

  test('of other code of a plug-in it is of another grader', async () => {
    const before = await evaluate(0, 'odd', 1, { code: 'a' });
    const after = await evaluate(10, 'odd', 1, { code: 'b' });
    const graders = ({ scores }: typeof before) => [...new Set(scores.map(({ grader }) => grader))];

    expect(before.result?.identity.graderVersion).not.toBe(after.result?.identity.graderVersion);
    expect(graders(before)).toHaveLength(1);
    expect(graders(before)).not.toEqual(graders(after));
    expect(new Set([...before.scores, ...after.scores].map(({ data }) => data)).size).toBe(1);
  });

  test('which steps can be compared by, problem by problem', async () => {
    await evaluate(0, 'even', 2);
    const { result, trajectories } = await evaluate(10, 'odd', 2);

    const { comparisons, warnings } = await compareResults(join(folder, '10'), join(folder, '0'));

    expect(trajectories.map(({ sample_index }) => sample_index)).toEqual([0, 1, 0, 1, 0, 1, 0, 1]);
    expect(result?.pass_at_k).toEqual({ 1: 0.5, 2: 0.5 });
    expect(comparisons).toMatchObject([
      { benchmark: 'held_out', n: 4, scoreA: 0.5, scoreB: 0.25, wins: 2, losses: 1, ties: 1 },
    ]);
    expect(warnings).toEqual([
      expect.stringContaining('without a whole answer: 1 failed (such samples count 0'),
    ]);
  });

  test('where every reply was cut short: nothing was right, so that the first step can be compared with later ones', async () => {
    const cut = 'x'.repeat(CONFIG.maxTokens + 1);
    const first = await evaluate(0, cut);
    const later = await evaluate(10, 'odd');

    const { comparisons, warnings } = await compareResults(join(folder, '10'), join(folder, '0'));

    expect(first.scores.find(({ metric }) => metric === 'accuracy')).toMatchObject({ value: 0, n: 4 });
    expect(first.result).toMatchObject({ score: 0, num_truncated: 4 });
    expect(later.result?.identity.graderVersion).toBe(first.result?.identity.graderVersion);
    expect(comparisons).toMatchObject([{ benchmark: 'held_out', n: 4, scoreA: 0.5, scoreB: 0 }]);
    expect(warnings.join()).not.toContain('grader');
  });

  test('of the mean reward where nothing is right or wrong, and none where nothing could be played', async () => {
    const { make } = counting;
    const judged = {
      ...counting,
      make: (problem: unknown) => ({
        ...make(problem),
        step: () => ({ reward: Number(problem) / 2, isDone: true, nextMessages: [] }),
      }),
    };
    const broken = { ...counting, make: () => Promise.reject(new Error('no')) };

    const { scores, result } = await evaluate(0, 'odd', 1, { environment: judged });
    const nothing = await evaluate(1, 'odd', 1, { environment: broken });

    expect(result).toMatchObject({ score: 17 / 8, pass_at_k: {}, num_errors: 0 });
    expect(scores.find(({ metric }) => metric === 'env/all/reward/total')?.value).toBe(17 / 8);
    expect(nothing.result).toBeNull();
    // The judged step scores rewards, the other right answers.
    await evaluate(2, 'odd');
    const { warnings } = await compareResults(join(folder, '2'), join(folder, '0'));
    expect(warnings[0]).toMatch(
      /graderVersion differs: \/.+ "correct@\w+", \/.+ "reward@\w+"\. The difference may/,
    );
  });
});
