import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Datum } from '../../../../src/core/datum';
import { ReinforcementConfig } from '../../../../src/config/reinforcement-config';
import { reinforcementContradictions } from '../../../../src/config/reinforcement-contradictions';
import { createReinforcementBatches } from '../../../../src/training/reinforcement/reinforcement-batches';
import { replayStep, sampledSteps } from '../../../../src/training/reinforcement/replay-step';
import { RolloutJournal } from '../../../../src/training/reinforcement/rollout-journal';
import type { RunRecord } from '../../../../src/training/run-folder';
import type { BatchPart, StepBatch } from '../../../../src/training/step-batch';
import { groupOf, rolloutOf } from './sampled-groups';

let folder: string;
let journal: RolloutJournal;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-batches-'));
  journal = new RolloutJournal(folder, false);
  await writeStep(1);
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Four groups: two with different rewards, one where all are equal, one that was given up. */
async function writeStep(step: number): Promise<void> {
  const groups = [
    groupOf('a', [rolloutOf(1, [5, 6]), rolloutOf(0, [7])]),
    groupOf('b', [rolloutOf(0, [5]), rolloutOf(1, [8, 9])]),
    groupOf('c', [rolloutOf(1, [5]), rolloutOf(1, [5])]),
    groupOf('d', []),
  ];
  for (const [group, sampled] of groups.entries()) await journal.files.write({ step, group }, sampled);
}

function config(more: object = {}): ReinforcementConfig {
  return ReinforcementConfig.parse({
    kind: 'rl',
    model: 'everstep/tiny',
    environment: { type: 'arithmetic' },
    groupsPerBatch: 4,
    groupSize: 2,
    ...more,
  });
}

function batches(given = config()) {
  return createReinforcementBatches({ run: 'r', config: given, journal, problemCount: 8 });
}

function advantagesOf({ updates }: StepBatch): number[][] {
  return updates
    .flatMap(({ parts }) => parts.flat())
    .map(({ lossInputs }) => [...(lossInputs['advantages'] ?? [])]);
}

test('gives each action token its rollout’s reward less the mean of its group, and prompts nothing', async () => {
  const batch = await batches().batch(1);

  expect(advantagesOf(batch)).toEqual([
    [0, 0, 0.5, 0.5],
    [0, 0, -0.5],
    [0, 0, -0.5],
    [0, 0, 0.5, 0.5],
    [0, 0, 0],
    [0, 0, 0],
  ]);
  expect(batch.updates).toHaveLength(1);
  expect(batch.updates[0]?.lossFn).toBe('importance_sampling');
});

test('counts rollouts that are not trained on, and says how far sampler and trainer disagree', async () => {
  const batch = await batches(config({ removeConstantRewardGroups: true })).batch(1);

  const sampled = batch.updates
    .flatMap(({ parts }) => parts.flat())
    .map(({ lossInputs }) => lossInputs['logprobs'] ?? new Float32Array());
  const metrics = batch.metrics(
    sampled.map((row) => row.map((value) => value - 0.5)),
    [],
  );

  expect(metrics).toMatchObject({
    'env/all/total_episodes': 6,
    'rollout_errors/groups_skipped': 1,
    'train/sequences': 4,
  });
  expect(metrics['env/all/reward/total']).toBeCloseTo(4 / 6);
  expect(metrics['optim/kl_sample_train_v1']).toBeCloseTo(0.5);
});

test('splits a batch into near-equal updates, each with all settings of its loss', async () => {
  const batch = await batches(config({ numSubsteps: 4, lossFunction: 'ppo' })).batch(1);

  expect(batch.updates.map(({ parts }) => parts.flat().length)).toEqual([1, 2, 1, 2]);
  expect(batch.updates[0]?.lossFnConfig).toEqual({ clip_low_threshold: 0.8, clip_high_threshold: 1.2 });
});

test('has nothing to send where every group was given up, and still says so', async () => {
  for (const group of [0, 1, 2, 3]) await journal.files.write({ step: 2, group }, groupOf('x', []));

  const batch = await batches().batch(2);

  expect(batch.updates).toEqual([]);
  expect(batch.metrics([], [])).toMatchObject({ 'rollout_errors/groups_skipped': 4, 'train/sequences': 0 });
});

test('waits for a worker that sees the rollouts where a group is not in this store', async () => {
  await expect(batches().batch(3)).rejects.toMatchObject({ code: 'unreachable', retryable: true });
});

describe('while groups are still sampled', () => {
  async function early(given: ReinforcementConfig): Promise<Datum[][]> {
    const source = batches(given);
    const told: Datum[][] = [[], []];
    for (const data of told) await source.isReady?.(1, (found) => data.push(...found));
    return told;
  }

  test('tells once what the batch will hold of those that are done', async () => {
    const [first, second] = await early(config({ groupsPerBatch: 5 }));

    const batch = await batches().batch(1);

    expect(first).toEqual(batch.updates.flatMap(({ parts }) => parts.flat()));
    expect(second).toEqual([]);
  });

  test('gives the batch what it told of', async () => {
    const source = batches();
    const told: Datum[] = [];
    await source.isReady?.(1, (found) => told.push(...found));

    const batch = await source.batch(1);

    const sent = batch.updates.flatMap(({ parts }) => parts.flat());
    expect(sent.every((datum, index) => datum === told[index])).toBe(true);
    expect(sent).toHaveLength(told.length);
  });

  test('leaves out groups that may be left out of the batch', async () => {
    const [told] = await early(config({ removeConstantRewardGroups: true }));

    const batch = await batches(config({ removeConstantRewardGroups: true })).batch(1);

    expect(told).toEqual(batch.updates.flatMap(({ parts }) => parts.flat()));
    expect(told).toHaveLength(4);
  });

  test.each([
    ['a penalty looks at the whole batch', config({ klPenaltyCoef: 0.1 })],
    ['the service gets slopes', config({ lossFunction: 'dro', lossConfig: { beta: 0.5 } })],
  ])('tells nothing where %s', async (_, given) => {
    expect(await early(given)).toEqual([[], []]);
  });
});

describe('streamed', () => {
  const streamed = config({ streamedMinibatches: 2, numSubsteps: 2 });

  test('sends as parts what the whole batch holds, in its order', async () => {
    const parts: BatchPart[] = [];
    const source = batches(streamed);
    for await (const part of source.parts?.(1, new AbortController().signal) ?? []) parts.push(part);

    const whole = await source.batch(1);

    expect(parts.map(({ data }) => data)).toEqual(whole.updates.flatMap(({ parts: each }) => each));
    expect(parts.map(({ endsUpdate }) => endsUpdate)).toEqual([false, true, false, true]);
  });

  test('sends a part as soon as its groups are there, and gives up when asked to', async () => {
    await journal.files.write({ step: 2, group: 0 }, groupOf('a', [rolloutOf(1, [5])]));
    const giveUp = new AbortController();
    const parts = batches(streamed).parts?.(2, giveUp.signal);

    const first = await parts?.next();
    const second = parts?.next();
    giveUp.abort();

    expect(first?.value).toMatchObject({ endsUpdate: false });
    await expect(second).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('a KL penalty', () => {
  const penalized = config({ klPenaltyCoef: 1 });

  test('needs the reference’s log-probabilities of every group before a step is ready', async () => {
    const needing = new RolloutJournal(folder, true);

    const before = await needing.isComplete(1, 4);
    await needing.references.write(1, 0, [[[0, 0, 0, 0]], [[0, 0, 0]]]);
    for (const group of [1, 2, 3]) await needing.references.write(1, group, []);

    expect(before).toBe(false);
    expect(await needing.isComplete(1, 4)).toBe(true);
  });

  test('charges tokens that the reference finds less likely, around the batch’s mean', async () => {
    const needing = new RolloutJournal(folder, true);
    await needing.files.write({ step: 2, group: 0 }, groupOf('a', [rolloutOf(1, [5]), rolloutOf(1, [5])]));
    await needing.references.write(2, 0, [[[0, 0, -0.5]], [[0, 0, -1.5]]]);
    const source = createReinforcementBatches({
      run: 'r',
      config: { ...penalized, groupsPerBatch: 1 },
      journal: needing,
      problemCount: 8,
    });

    const batch = await source.batch(2);

    const [likely, unlikely] = advantagesOf(batch).map((row) => row.at(-1));
    expect(likely).toBeCloseTo(0.5);
    expect(unlikely).toBeCloseTo(-0.5);
    expect(batch.metrics([new Float32Array(3), new Float32Array(3)], [])['kl_policy_base']).toBeCloseTo(0.5);
  });
});

describe('losses that are computed here', () => {
  test('dro learns from what the policy wrote, and never from prompts', async () => {
    const batch = await batches(config({ lossFunction: 'dro', lossConfig: { beta: 0.5 } })).batch(1);

    const [update] = batch.updates;
    const datums = update?.parts.flat() ?? [];
    const found = update?.derived?.(datums.map(({ tokens }) => new Float32Array(tokens.length).fill(-2)));

    // Prompt [1, 2, 3], then [5, 6] drawn with −0.5 and −0.6 at advantage 0.5: −(β(p − q) − A).
    const [prompt, other, first, second] = [...(found?.weights[0] ?? [])];
    expect([prompt, other].map((weight) => Math.abs(weight ?? 1))).toEqual([0, 0]);
    expect(first).toBeCloseTo(0.5 - 0.5 * (-2 + 0.5));
    expect(second).toBeCloseTo(0.5 - 0.5 * (-2 + 0.6));
    expect(found?.loss).toBeGreaterThan(0);
  });

  test('slopes that are no numbers, or not one a token, are refused', async () => {
    const pluginLoss = () => ({ loss: 1, slopes: [Number.NaN] });
    const given = config({ lossFunction: { plugin: 'mine' } });
    const source = createReinforcementBatches({
      run: 'r',
      config: given,
      journal,
      pluginLoss,
      problemCount: 8,
    });

    const [update] = (await source.batch(1)).updates;

    expect(() => update?.derived?.([])).toThrow(/1 slopes for 4 tokens/);
  });

  test('cannot be streamed', () => {
    const problems = reinforcementContradictions(config({ lossFunction: 'dro', streamedMinibatches: 2 }));

    expect(problems.join()).toContain('streamedMinibatches is 2, and the loss dro');
  });
});

test('the step is asked for once more after its updates, where the run wants to know how far they moved', async () => {
  const batch = await batches(config({ computePostKl: true })).batch(1);

  const logprobs = (batch.remeasured ?? []).map(({ tokens }, index) =>
    new Float32Array(tokens.length).fill(-index),
  );

  expect(batch.remeasured).toHaveLength(6);
  expect((await batches().batch(1)).remeasured).toBeUndefined();
  const metrics = batch.metrics(logprobs, logprobs);
  expect(metrics['kl_pre_post_v2']).toBeGreaterThan(0);
  // Both compare what was sampled with the same numbers here.
  expect(metrics['kl_pre_post_v1']).toBe(metrics['optim/kl_sample_train_v1']);
});

describe('replaying a step', () => {
  const record = (): RunRecord => ({
    run: 'r',
    config: config(),
    evaluators: {},
    renderer: 'everstep',
    engineUrl: '',
    initialPath: null,
    data: {
      ...{ source: '', revision: null, contentHash: '', preparedHash: null },
      ...{ trainCount: 8, testCount: 0, skippedCount: 0, truncatedCount: 0 },
    },
    provenance: {},
  });

  test('finds the same loss inputs, and others once a rollout was changed', async () => {
    const batch = await batches().batch(1);
    const source = { record: record(), folder, timing: [{ step: 1, at: '', ...batch.timing?.() }] };

    const same = await replayStep(source, 1);
    const file = join(folder, 'rollouts', '1', '0.jsonl');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"reward":1,"done"', '"reward":2,"done"'));
    const changed = await replayStep(source, 1);

    expect(same).toMatchObject({ matches: true, updates: 1, sequences: 6 });
    expect(same.groups[0]).toMatchObject({ rewards: [1, 0], advantages: [0.5, -0.5] });
    expect(changed).toMatchObject({ matches: false, recordedDigest: same.digest });
  });

  test('refuses a step that was not sampled whole', async () => {
    await expect(replayStep({ record: record(), folder, timing: [] }, 7)).rejects.toThrow(
      /has 0 of 4 groups of step 7\. Give a step that was sampled: /,
    );
  });

  test('names the steps that were sampled whole', async () => {
    await batches().batch(1);
    mkdirSync(join(folder, 'rollouts', '9'));

    expect(await sampledSteps({ record: record(), folder })).toEqual([1]);
    await expect(replayStep({ record: record(), folder, timing: [] }, 9)).rejects.toThrow(
      'Give a step that was sampled: 1.',
    );
  });
});
