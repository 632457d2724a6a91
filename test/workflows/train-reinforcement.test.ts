import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { statusQuery } from '../../src/workflows/contracts';
import { HeldTraining } from './harness/held-training';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { failureOf, reportOf, until, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

/** Groups in a step of all runs here. */
const GROUPS = 4;
const UNMEASURED = { evalEvery: 0, evaluators: [] };
const TWO_UPDATES = { ...UNMEASURED, steps: 4, numSubsteps: 2, saveEvery: 2 };

/** The ways to train. */
const MODES = {
  calm: {},
  streamed: { ...TWO_UPDATES, streamedMinibatches: 2, saveEvery: 0 },
  moved: { ...TWO_UPDATES, computePostKl: true, saveEvery: 0 },
  dro: { ...TWO_UPDATES, lossFunction: 'dro' },
  near: { ...UNMEASURED, steps: 5, klPenaltyCoef: 0.1, saveEvery: 0 },
  ahead: { ...UNMEASURED, maxStepsOffPolicy: 2, saveEvery: 0 },
  both: { ...UNMEASURED, maxStepsOffPolicy: 1, streamedMinibatches: 2 },
  spoilt: { ...UNMEASURED, saveEvery: 0 },
} as const;
type Mode = keyof typeof MODES;

let training: HeldTraining;
let stack: TestStack;
let runs: ReinforcementRuns;

beforeAll(async () => {
  training = await HeldTraining.create();
  stack = await TestStack.start({ runtime: training });
  runs = new ReinforcementRuns(stack);
  await stack.startWorkers();
  await Promise.all(UNDISTURBED.map((mode) => runs.train(mode, runs.config(MODES[mode]))));
});

afterAll(async () => {
  training.letAllGo();
  await stack.stop();
});

/** The modes in which weights are a function of config and seed, each trained once without disturbance. */
const UNDISTURBED = ['calm', 'streamed', 'moved', 'dro', 'near'] as const;

describe('without disturbance', () => {
  test('every step is sampled, trained and measured, and no weights are left behind but the checkpoints', async () => {
    const metrics = await stack.store.readMetrics('calm');
    const scores = await stack.store.readScores('calm');
    const checkpoints = await stack.store.readCheckpoints('calm');
    const state = await stack.store.readState('calm');
    expect(state).toMatchObject({ status: 'completed', step: 6, kind: 'rl' });
    expect(state?.finalWeightsDigest).toMatch(/^[0-9a-f]{64}$/);
    await runs.expectEachBatchOnce('calm', 6);
    for (const row of metrics) expect(Math.abs(row['optim/kl_sample_train_v1'] ?? 1)).toBeLessThan(1e-5);
    const accuracies = scores.filter(({ key }) => key === 'test/environments/accuracy');
    expect(accuracies.map(({ step }) => step).sort()).toEqual([0, 3, 6]);
    expect(checkpoints.map(({ name }) => name)).toEqual(['000000', '000003', 'final']);
    const model = await stack.modelOf('calm');
    const kept = (await stack.samplerPaths(model ?? '')).map((path) => path.slice(path.lastIndexOf('/') + 1));
    expect(kept.sort()).toEqual(['000003', 'final']);
  });

  test('nothing is sampled but what is trained on or measured', async () => {
    const kept = runs.tokensKept(...UNDISTURBED);

    expect(await runs.tokensSampled()).toBe(sumOf(kept.values()));
  });

  test('a step of several updates counts each', async () => {
    const updates = await Promise.all(
      (['streamed', 'moved', 'dro'] as const).map(async (run) =>
        (await stack.store.readMetrics(run)).map((row) => row['optim/updates']),
      ),
    );

    expect(updates).toEqual([1, 2, 3].map(() => [2, 4, 6, 8]));
  });

  test('a KL penalty compares with journalled log-probabilities of the reference', async () => {
    const rows = await stack.store.readMetrics('near');

    expect(Math.abs(rows[0]?.['kl_policy_base'] ?? 1)).toBeLessThan(1e-5);
    expect(Math.abs(rows.at(-1)?.['kl_policy_base'] ?? 0)).toBeGreaterThan(1e-6);
  });

  test('a run says how far the updates of a step moved the policy, where it is asked to', async () => {
    const rows = await stack.store.readMetrics('moved');

    expect(rows.every((row) => Number(row['kl_pre_post_v2']) > 0)).toBe(true);
    expect(rows.every((row) => Number(row['kl_pre_post_v1']) !== 0)).toBe(true);
  });
});

test('another seed draws other rollouts; what was drawn is scored once more where a run says so', async () => {
  const short = { ...UNMEASURED, steps: 1 };
  await Promise.all([
    runs.train('other', runs.config({ ...short, seed: 1 })),
    runs.train('rescored', runs.config({ ...short, computeLogprobs: true })),
  ]);

  const first = join('1', '0.jsonl');
  expect(runs.rollouts('other')[first]).not.toEqual(runs.rollouts('calm')[first]);
  const [row] = await stack.store.readMetrics('rescored');
  expect(Math.abs(Number(row?.['optim/kl_sample_train_v1']))).toBeLessThan(1e-4);
  expect(Number(row?.['optim/entropy'])).toBeGreaterThan(0);
});

test('the loss of a plug-in has the gradient of its slopes: importance sampling written anew is the service’s own', async () => {
  const plugins = join(stack.folder, 'losses.config.js');
  writeFileSync(
    plugins,
    `module.exports = { losses: { mine: ({ logprobs, sampledLogprobs, advantages, mask }) => {
        const surrogate = Array.from(mask, (weight, index) =>
          weight * Math.exp(logprobs[index] - sampledLogprobs[index]) * advantages[index]);
        return { loss: -surrogate.reduce((sum, each) => sum + each, 0), slopes: surrogate.map((each) => -each) };
      } } };`,
  );
  const short = { ...UNMEASURED, steps: 1, numSubsteps: 2 };

  const [, nameless] = await Promise.all([
    runs.train('own-loss', runs.config({ ...short, plugins, lossFunction: { plugin: 'mine' } })),
    failureOf(
      await runs.start('no-loss', runs.config({ ...short, plugins, lossFunction: { plugin: 'none' } })),
    ),
  ]);

  const [own] = await stack.store.readMetrics('own-loss');
  const [its] = await stack.store.readMetrics('moved');
  for (const key of ['optim/grad_norm', 'train/loss', 'optim/kl_sample_train_v2'])
    expect(Number(own?.[key])).toBeCloseTo(Number(its?.[key]), 4);
  expect(own?.['optim/updates']).toBe(its?.['optim/updates']);
  expect(nameless.message).toContain('has no loss "none"');
});

test('goes on in new executions without losing what is sampled ahead', async () => {
  const given = runs.config({ ...UNMEASURED, maxStepsOffPolicy: 1 });
  const handle = await runs.start('long', given, { maxHistoryEvents: 60 });
  await reportOf(handle);

  await runs.expectEachBatchOnce('long', 6);
  const { runId } = await stack.client.workflow.getHandle(handle.workflowId).describe();
  expect(runId).not.toBe(handle.firstExecutionRunId);
});

/** Runs of all modes lose their engine at once, each in an update; some of their files are lost or spoilt as well. */
describe('a run whose engine loses the model', () => {
  const lost = Object.keys(MODES) as Mode[];
  const handles = new Map<Mode, WorkflowHandle>();
  let before: ReadonlyMap<string, number>;
  let sampledBefore = 0;
  let delays: Record<string, readonly number[]>;
  let waits: string[];
  /** What is waited for. */
  let stage: string | null = 'the engine';

  /** Where the runs stand when what is waited for does not come. */
  afterAll(async () => {
    if (stage === null) return;
    console.error(`Waited in vain: ${stage}.`);
    for (const [mode, handle] of handles) {
      const { pendingActivities } = (await handle.describe()).raw;
      const pending = (pendingActivities ?? []).map(
        ({ activityType, state, attempt, lastFailure }) =>
          `${activityType?.name ?? ''} ${state ?? ''} attempt ${attempt ?? ''} ${lastFailure?.message ?? ''}`,
      );
      const status = await handle.query(statusQuery).catch(String);
      console.error(mode, JSON.stringify({ status, pending }));
    }
  });

  beforeAll(async () => {
    const start = await runs.tokensSampled();
    await standInAnUpdate();
    before = runs.tokensKept(...lost.map((mode) => `lost-${mode}`));
    sampledBefore = (await runs.tokensSampled()) - start;
    delays = runs.delays('lost-ahead');
    for (const file of removed()) rmSync(file);
    spoil();
    stage = 'the engine started again';
    await stack.restartEngine(() => {
      training.letAllGo();
    });
    stage = 'a run that names its torn file';
    waits = await clearAway();
    stage = 'the ends of all runs';
    await Promise.all([...handles.values()].map((handle) => reportOf(handle)));
    stage = null;
  });

  /**
   * Nothing is being sampled then. The run that takes turns has a sampler that waits for its weights, unless sampling took long, as eight
   * runs at once make it on a machine that is busy otherwise: it is not waited for.
   */
  async function standInAnUpdate(): Promise<void> {
    const updates = training.holdEach(0);
    for (const mode of lost) handles.set(mode, await runs.start(`lost-${mode}`, runs.config(MODES[mode])));
    stage = 'the first update of each run';
    await updates.held(lost.length);
    stage = 'three steps sampled ahead';
    // With weights that are two steps old at most, three steps can be sampled before any is trained.
    await runs.untilGroups('lost-ahead', 3 * GROUPS);
    updates.goOn(3);
    stage = 'the update in which each run is to lose its engine';
    await updates.held(lost.length);
    stage = 'groups of the run that streams';
    await runs.untilGroups('lost-streamed', 3 * GROUPS);
    stage = 'groups of the runs that sample ahead';
    for (const mode of ['ahead', 'both']) await runs.untilGroups(`lost-${mode}`, 6 * GROUPS);
    stage = 'the score of step 3';
    await until(async () =>
      (await stack.store.readScores('lost-calm')).some(({ step }) => step === 3) ? true : null,
    );
  }

  function removed(): string[] {
    const ofNear = groupFile('lost-near', 2, 1);
    return [
      groupFile('lost-streamed', 1, 3),
      ...[0, 2].map((group) => groupFile('lost-spoilt', 3, group)),
      ...[ofNear, ofNear.replace('.jsonl', '.reference.json')],
      groupFile('lost-ahead', 3, 0),
    ];
  }

  const tornFile = () => groupFile('lost-spoilt', 2, 1);
  const swappedFile = () => groupFile('lost-spoilt', 4, 3);

  function spoil(): void {
    const torn = tornFile();
    writeFileSync(torn, readFileSync(torn).subarray(0, 700));
    copyFileSync(groupFile('lost-spoilt', 1, 3), swappedFile());
  }

  /** Removes each file that the run waits for, and gives what the run said. */
  async function clearAway(): Promise<string[]> {
    const said: string[] = [];
    for (const file of [tornFile(), swappedFile()]) {
      const { waitingFor } = await untilStatus(
        handleOf('spoilt'),
        ({ waitingFor: wait }) => wait?.what.includes(file) === true,
      );
      said.push(waitingFor?.what ?? '');
      rmSync(file);
    }
    return said;
  }

  function handleOf(mode: Mode): WorkflowHandle {
    const handle = handles.get(mode);
    if (handle === undefined) throw new Error(`No run of ${mode}.`);
    return handle;
  }

  test.each(UNDISTURBED)('leaves what an undisturbed run leaves, bit by bit: %s', async (mode) => {
    expect(await runs.outcome(`lost-${mode}`)).toEqual(await runs.outcome(mode));
    expect(await stack.store.readState(`lost-${mode}`)).toMatchObject({ rewinds: 1 });
  });

  test.each(['ahead', 'both'] as const)(
    'counts every batch once where it samples ahead: %s',
    async (mode) => {
      await runs.expectEachBatchOnce(`lost-${mode}`, 6);
      expect(await stack.store.readState(`lost-${mode}`)).toMatchObject({ rewinds: 1 });
    },
  );

  test('samples ahead with weights as old as it may, and no older', () => {
    expect(Math.max(...Object.values(delays).flat())).toBe(2);
    expect(Math.min(...Object.values(delays).flat())).toBe(0);
  });

  test('samples what somebody removed, and nothing else once more', async () => {
    const after = runs.tokensKept(...lost.map((mode) => `lost-${mode}`));
    const again = new Set([...removed(), tornFile(), swappedFile()]);
    const sampled = [...after].flatMap(([path, count]) =>
      !before.has(path) || again.has(path) ? [count] : [],
    );

    expect(sampledBefore).toBe(sumOf(before.values()));
    // The engine counts from its start.
    expect(await runs.tokensSampled()).toBe(sumOf(sampled));
  });

  test('waits for rollouts that are torn, or of another group, by name until somebody removes them', async () => {
    for (const wait of waits)
      expect(wait).toMatch(
        /does not hold a whole group of rollouts of its step and number.* Remove the file/,
      );
    const calm = await runs.outcome('calm');
    expect(await runs.outcome('lost-spoilt')).toEqual({ ...calm, scores: [] });
  });
});

function groupFile(run: string, step: number, group: number): string {
  return join(stack.store.runFolder(run), 'rollouts', String(step), `${group}.jsonl`);
}

function sumOf(counts: Iterable<number>): number {
  return [...counts].reduce((sum, count) => sum + count, 0);
}
