import { join } from 'node:path';
import type { SupervisedConfig } from '../../src/config/supervised-config';
import type { Everstep } from '../../src/client/everstep';
import { statusQuery } from '../../src/workflows/contracts';
import { stepsAppliedBy } from './harness/applied';
import { HeldRuns } from './harness/held-runs';
import type { TestRuns } from './harness/runs';
import { reportOf, until, untilStatus, writeSums } from './harness/runs';
import type { TestStack } from './harness/stack';

/** Runs that stand still for long, or because of their budget. */
const STEPS = 20;
/** Steps that are done where a run is held, and where it is asked to rest. */
const DONE = 6;
const REST = 10;
/** Seconds after which a pause lets go of the model, or ends by itself. */
const SOON = 0.1;

const SUMS = { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 4 };

let held: HeldRuns;
let stack: TestStack;
let runs: TestRuns;
let everstep: Everstep;
/** What a run comes to that nobody disturbs, and one that is told beforehand to end right after the rest. */
let undisturbed: object;
let ended: object;

beforeAll(async () => {
  held = await HeldRuns.start();
  ({ stack, runs, everstep } = held);
  await runs.train('undisturbed', config());
  undisturbed = await runs.outcome('undisturbed');
  ended = await held.foretold('ended', config(), {
    done: DONE,
    tell: (run) => run.stop({ atStep: REST + 1 }),
  });
});

afterEach(() => {
  held.training.letAllGo();
});

afterAll(() => held.close());

function config(more: object = {}): SupervisedConfig {
  return runs.config({
    steps: STEPS,
    batchSize: 4,
    saveEvery: 5,
    evalEvery: STEPS,
    evaluators: [SUMS],
    ...more,
  });
}

function heldRun(name: string, more: object = {}, given = config()) {
  return held.start(name, given, { done: DONE, ...more });
}

/** What the engine keeps of the model that made a checkpoint. */
async function savesOf(path: string): Promise<string[]> {
  const modelId = /^tinker:\/\/([^/]+)/.exec(path)?.[1] ?? '';
  const response = await fetch(`${stack.engine.url}/api/v1/training_runs/${modelId}/checkpoints`);
  const { checkpoints } = (await response.json()) as { checkpoints: { tinker_path: string }[] };
  return checkpoints.map(({ tinker_path }) => tinker_path);
}

/** Waits until the run's record says so. */
async function untilNoted(run: string, what: string): Promise<void> {
  await until(async () => {
    const events = await everstep.run(run).timeline();
    return events.some(({ kind }) => kind === what) ? true : null;
  });
}

describe('a long pause', () => {
  test('lets go of the model, outlives worker and engine, and goes on from where it was without a step again', async () => {
    const applied = await stepsAppliedBy(join(stack.folder, 'engine'), async () => {
      const { handle, run, hold } = await heldRun('slept', { holdSeconds: SOON });
      await run.pause({ atStep: REST, reason: 'night' });
      hold.letGo();
      const modelId = await until(() => stack.modelOf('slept'));
      await untilNoted('slept', 'released');
      expect(await stack.isModelLoaded(modelId)).toBe(false);

      await stack.stopWorkers();
      await stack.restartEngine();
      await stack.startWorkers();
      await run.resume();
      await reportOf(handle);
    });

    const state = await stack.store.readState('slept');
    expect(state).toMatchObject({ status: 'completed', rewinds: 0, stepsReplayed: 0, lineage: 0 });
    expect(applied).toBe(STEPS);
    expect(await runs.outcome('slept')).toEqual(undisturbed);
    const saved = (await stack.store.readCheckpoints('slept')).find(({ name }) => name.endsWith('-held'));
    expect(saved).toMatchObject({ step: REST, sampler_path: null });
    expect(await savesOf(saved?.state_path ?? '')).not.toContain(saved?.state_path);
    const kinds = (await everstep.run('slept').timeline()).map(({ kind }) => kind);
    expect(kinds.filter((kind) => ['paused', 'released', 'resumed'].includes(kind))).toEqual([
      'paused',
      'released',
      'resumed',
    ]);
  });

  test('that is ended in the moment it begins is told to end there', async () => {
    const names = ['brief-1', 'brief-2', 'brief-3'];
    for (const name of names) {
      const { handle, run, hold } = await heldRun(name);
      await run.pause({ atStep: REST });
      hold.letGo();
      await untilStatus(handle, ({ status }) => status === 'paused');
      await run.resume();
      await reportOf(handle);
    }

    const timelines = await Promise.all(names.map((name) => everstep.run(name).timeline()));
    const told = timelines.map((events) => events.filter(({ kind }) => kind === 'resumed'));
    expect(told.flat().map(({ step }) => step)).toEqual(names.map(() => REST));
  });

  test('is what a hand-over is: saved and let go of at once, it goes on by itself or by whoever attaches', async () => {
    const { handle, run, hold } = await heldRun('handed', {}, config({ saveEvery: 0 }));
    await run.pause({ atStep: REST, reason: 'later' });
    const { step } = await run.handOver({ reason: 'Ctrl-C' });
    hold.letGo();
    const left = await untilStatus(handle, ({ isLetGo }) => isLetGo === true);
    await stack.stopWorkers();
    await stack.restartEngine();
    await stack.startWorkers();
    const asPaused = await untilStatus(handle, (live) => live.step === REST && live.status === 'paused');
    const standing = await run.handOver();
    const letGo = await untilStatus(handle, ({ isLetGo }) => isLetGo === true);
    await everstep.resume('handed');
    await run.resume();
    await reportOf(handle);

    expect(left).toMatchObject({ status: 'paused', step, pause: { isHandOver: true, reason: 'Ctrl-C' } });
    expect(step).toBeLessThan(REST);
    expect(asPaused.pause).toMatchObject({ reason: 'later', until: null });
    expect(standing.step).toBe(REST);
    expect(letGo.pause).toMatchObject({ reason: 'later', until: null, isHandOver: true });
    const state = await stack.store.readState('handed');
    expect(state).toMatchObject({ status: 'completed', rewinds: 0, stepsReplayed: 0 });
  });

  test('lasts across executions, answers meanwhile, and ends by itself', async () => {
    const { handle, run, hold } = await heldRun('timed', { maxHistoryEvents: 40, holdSeconds: SOON });
    await run.pause({ atStep: REST, seconds: 3600 });
    hold.letGo();
    await untilStatus(handle, (live) => live.pause?.until != null);
    const execution = (await handle.describe()).runId;

    for (let count = 1; count <= 6; count += 1) {
      await run.setLearningRate({ value: 1e-3 / count, reason: `try ${count}` });
    }
    await until(async () => ((await handle.describe()).runId === execution ? null : true));
    await run.setLearningRate({ value: 1e-3, reason: 'as it was' });
    const { pause, status, rewinds } = await untilStatus(handle, (live) => live.pause?.until != null);
    await run.pause({ seconds: SOON, then: 'stop', reason: 'enough' });
    const report = await reportOf(handle);

    expect(status).toBe('paused');
    expect(rewinds).toBe(0);
    expect(pause).toMatchObject({ step: REST, then: 'resume' });
    expect(report).toMatchObject({ status: 'stopped', step: REST + 1 });
    const controls = await stack.store.readControls('timed');
    expect(controls.map(({ control }) => control)).toEqual([
      'pause',
      ...Array.from({ length: 7 }, () => 'setLearningRate'),
      'pause',
      'stop',
    ]);
    expect(controls.at(-1)).toMatchObject({
      by: 'deadline',
      reason: `paused for ${SOON} s`,
      to: REST + 1,
    });
    expect(await runs.outcome('timed')).toEqual(ended);
  });

  test('begins at the step it was asked for, and goes on when it ends by itself', async () => {
    const { handle, run, hold } = await heldRun('nap');

    const { step } = await run.pause({ atStep: REST, seconds: SOON });
    hold.letGo();
    await reportOf(handle);

    expect(step).toBe(REST);
    const events = (await run.timeline()).filter(({ kind }) => ['paused', 'resumed'].includes(kind));
    expect(events.map(({ kind, step: at }) => `${kind} ${at}`)).toEqual([
      `paused ${REST}`,
      `resumed ${REST}`,
    ]);
    expect(await stack.store.readControls('nap')).toMatchObject([
      { control: 'pause', step: REST },
      { control: 'resume', step: REST + 1, by: 'deadline' },
    ]);
    expect(await runs.outcome('nap')).toEqual(undisturbed);
  });

  test('is followed by a cancel or a stop while the model is let go of', async () => {
    const names = ['dropped', 'stopped'];
    const stories = await Promise.all(names.map((run) => heldRun(run, { holdSeconds: SOON })));
    await Promise.all(stories.map(({ run }) => run.pause({ atStep: REST })));
    for (const { hold } of stories) hold.letGo();
    for (const run of names) await untilNoted(run, 'released');

    await everstep.run('dropped').cancel({ reason: 'changed my mind' });
    const dropped = await everstep.run('dropped').result();
    await everstep.run('stopped').stop();
    const stopped = await everstep.run('stopped').result();

    expect(dropped).toMatchObject({ status: 'cancelled', reason: 'changed my mind', step: REST });
    expect((await stack.store.readCheckpoints('dropped')).at(-1)).toMatchObject({ step: REST });
    expect(stopped).toMatchObject({ status: 'stopped', step: REST + 1, rewinds: 0 });
    expect(await runs.outcome('stopped')).toEqual(ended);
  });
});

describe('a budget', () => {
  /** Whole in every batch, so that all steps have as many tokens. */
  const constant = (more: object = {}) => {
    const { train } = writeSums(join(stack.folder, 'few'), 4);
    return config({ dataset: { path: train }, ...more });
  };

  test('that is used up lets what is under way be finished, and pauses; the run goes on once there is more', async () => {
    const { handle, run, hold } = await heldRun('frugal', {}, constant());
    const [row] = await run.metrics({ from: 1, to: 1 });
    const perStep = row?.['train/tokens'] ?? 0;

    const limit = perStep * (REST + 0.5);
    await run.setBudget({ tokens: limit, reason: 'poor' });
    hold.letGo();
    const paused = await untilStatus(handle, ({ status }) => status === 'paused');
    await expect(run.resume()).rejects.toThrow(
      /would not fit the budget: .* tokens used. Raise the budget first/,
    );
    await run.setBudget({ tokens: null, dollars: 1000, dollarsPerMillionTokens: 0.5 });
    await run.resume();
    await reportOf(handle);

    const { budget } = await handle.query(statusQuery);
    expect(paused).toMatchObject({
      step: REST,
      pause: {
        by: 'budget',
        step: REST,
        reason: `the next step would not fit the budget: ${perStep * REST} of ${limit} tokens used`,
      },
      budget: { spent: { tokens: perStep * REST, tokensReserved: 0, tokensOfRewinds: 0, dollars: null } },
    });
    expect(paused.budget?.warnings).toEqual([`${perStep * REST} of ${limit} tokens`]);
    expect(budget?.spent.dollars).toBeCloseTo(((perStep * STEPS) / 1e6) * 0.5, 12);
    const controls = await stack.store.readControls('frugal');
    expect(controls.map(({ control, by }) => `${control} ${by === 'budget' ? by : 'person'}`)).toEqual([
      'setBudget person',
      'pause budget',
      'setBudget person',
      'resume person',
    ]);
    const kinds = (await run.timeline()).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'budget')).toHaveLength(1);
    await runs.train('lavish', constant());
    expect(await runs.outcome('frugal')).toEqual(await runs.outcome('lavish'));
  });

  test('that the first step does not fit has none sent, and the run begins once there is more', async () => {
    const before = held.training.tokenCount;
    const handle = await runs.start('penniless', { ...constant(), budget: { tokens: 20 } });
    const paused = await untilStatus(handle, ({ status }) => status === 'paused');
    const sent = held.training.tokenCount - before;
    const run = everstep.run('penniless');
    await expect(run.resume()).rejects.toThrow(/would not fit the budget: 0 of 20 tokens used/);
    await run.setBudget({ tokens: 1e9 });
    await run.resume();
    await reportOf(handle);

    expect(sent).toBe(0);
    expect(paused).toMatchObject({ step: 0, pause: { by: 'budget', step: 0 } });
    await runs.train('rich', constant());
    expect(await runs.outcome('penniless')).toEqual(await runs.outcome('rich'));
  });

  test('is kept whatever dies: what was sent counts, collected or not', async () => {
    const before = held.training.tokenCount;
    const { handle, run, hold } = await heldRun('unfortunate', {}, config({ saveEvery: 0 }));
    const rows = await run.metrics({ from: 1 });
    const tokens = rows.map((row) => row['train/tokens'] ?? 0);
    const limit = Math.round((STEPS * tokens.reduce((sum, count) => sum + count, 0)) / tokens.length);
    await run.setBudget({ tokens: limit });
    const again = held.training.holdNext(DONE);
    await held.restartEngine(hold);
    await again.held();
    await stack.stopWorkers();
    await held.restartEngine(again);
    await stack.startWorkers();

    const { budget, pause, step } = await untilStatus(handle, ({ status }) => status === 'paused');
    const trained = held.training.tokenCount - before;
    await run.setBudget({ tokens: null });
    await run.resume();
    await reportOf(handle);

    const { spent, warnings = [] } = { ...budget };
    expect(step).toBeGreaterThan(0);
    expect(trained).toBeLessThanOrEqual(spent?.tokens ?? 0);
    expect(spent?.tokens).toBeLessThanOrEqual(limit);
    expect(spent?.tokensReserved).toBe(0);
    expect(pause?.by).toBe('budget');
    expect(pause?.reason).toMatch(/would not fit the budget/);
    expect(warnings).toHaveLength(1);
    const state = await stack.store.readState('unfortunate');
    expect(state).toMatchObject({ status: 'completed', rewinds: 2 });
  });

  test('warns at four fifths, not later', async () => {
    const { handle, run, hold } = await heldRun('warned', {}, constant());
    const [row] = await run.metrics({ from: 1, to: 1 });
    await run.setBudget({ tokens: (row?.['train/tokens'] ?? 0) * STEPS });
    hold.letGo();
    await reportOf(handle);

    const [warning] = (await run.timeline()).filter(({ kind }) => kind === 'budget');
    expect(warning).toMatchObject({ step: 0.8 * STEPS });
  });

  test('counts apart what rewinds cost, and no time in which a run stands still', async () => {
    const { handle, run, hold } = await heldRun('unlucky', {}, config({ saveEvery: 0 }));
    await run.setBudget({ tokens: 1e12, seconds: 1e6, dollars: 1e6, dollarsPerMillionTokens: 1 });
    const again = held.training.holdNext(0);
    await held.restartEngine(hold);
    const rewound = await untilStatus(
      handle,
      ({ rewinds, stepsReplayed }) => rewinds === 1 && stepsReplayed > 0,
    );
    await again.held();

    await run.pause();
    again.letGo();
    await untilNoted('unlucky', 'paused');
    const before = await handle.query(statusQuery);
    await runs.train('meanwhile', config({ steps: 4, evaluators: [] }));
    await run.setBudget({ seconds: 1e7 });
    const after = await untilStatus(handle, (live) => live.budget?.limits.seconds === 1e7);
    await run.resume();
    await reportOf(handle);

    const spent = rewound.budget?.spent;
    expect(spent?.tokensOfRewinds).toBeGreaterThan(0);
    expect(spent?.dollarsOfRewinds).toBeCloseTo((spent?.tokensOfRewinds ?? 0) / 1e6);
    expect(before.budget?.spent.seconds).toBeGreaterThan(0);
    expect(after.budget?.spent.seconds).toBe(before.budget?.spent.seconds);
  });
});
