import { WorkflowUpdateFailedError } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import type { SupervisedConfig } from '../../src/config/supervised-config';
import type { Everstep } from '../../src/client/everstep';
import type { TrainSupervisedInput } from '../../src/workflows/contracts';
import * as contracts from '../../src/workflows/contracts';
import { HeldRuns } from './harness/held-runs';
import { TestPlugins } from './harness/plugins';
import type { TestRuns } from './harness/runs';
import { reportOf, until, untilCell, untilStatus } from './harness/runs';
import type { TestStack } from './harness/stack';

/** What all runs end after. */
const STEPS = 24;
/** Steps that are done where a run is held. */
const DONE = 10;

const SUMS = { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 4 };

let held: HeldRuns;
let stack: TestStack;
let runs: TestRuns;
let everstep: Everstep;
let plugins: TestPlugins;
/** What a run comes to that nobody changes. */
let undisturbed: object;

beforeAll(async () => {
  held = await HeldRuns.start();
  ({ stack, runs, everstep } = held);
  plugins = new TestPlugins(stack.folder);
  await runs.train('undisturbed', config());
  undisturbed = await runs.outcome('undisturbed');
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

/** A run that stands in the middle of its training. */
function heldRun(name: string, given = config(), more: Partial<TrainSupervisedInput> = {}) {
  return held.start(name, given, { done: DONE, ...more });
}

const controlsOf = async (run: string) => stack.store.readControls(run);

async function stepsOf(run: string): Promise<number[]> {
  return (await stack.store.readMetrics(run)).map(({ step }) => step);
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

test('a paused run trains nothing, goes on where it was, and ends like one that was never paused', async () => {
  const { handle, run, hold } = await heldRun('rested');

  const { step } = await run.pause({ reason: 'lunch', by: 'someone' });
  hold.letGo();
  await untilStatus(handle, ({ status }) => status === 'paused');
  const atRest = await stepsOf('rested');
  await runs.train('meanwhile', config({ steps: 4, evaluators: [] }));
  const later = await stepsOf('rested');
  const stored = await stack.store.readState('rested');
  await run.resume({ reason: 'back', by: 'someone' });
  const report = await reportOf(handle);

  expect(step).toBeLessThan(STEPS);
  expect(atRest).toEqual(upTo(step));
  expect(later).toEqual(atRest);
  expect(stored).toMatchObject({ status: 'paused', step });
  expect(report).toMatchObject({ status: 'completed', step: STEPS });
  expect(await controlsOf('rested')).toMatchObject([
    { control: 'pause', by: 'someone', reason: 'lunch', step, to: { step, seconds: null, then: 'resume' } },
    { control: 'resume', reason: 'back', step: step + 1, from: 'paused', to: 'running' },
  ]);
  expect(await runs.outcome('rested')).toEqual(undisturbed);
});

test('a learning rate holds from its step on, is multiplied, and a rewind trains each step with the one it had', async () => {
  const { handle, run, hold } = await heldRun('tuned');

  const first = await run.setLearningRate({ value: 5e-4, reason: 'too hot' });
  const second = await run.setLearningRate({ multiplier: 0.5, atStep: first.step + 4 });
  hold.goOn(9);
  await hold.held();
  const rewound = held.training.holdNext(2);
  await held.restartEngine(hold);
  await rewound.held();
  await stack.stopWorkers();
  await stack.startWorkers();
  rewound.letGo();
  await reportOf(handle);

  expect(first).toMatchObject({ from: 1e-3, to: 5e-4 });
  expect(second).toMatchObject({ from: 5e-4, to: 2.5e-4, step: first.step + 4 });
  expect((await stack.store.readState('tuned'))?.rewinds).toBe(1);
  const rates = (await stack.store.readMetrics('tuned')).map((row) => row['optim/lr']);
  const rateAt = (step: number, peak: number) => peak * (1 - (step - 1) / STEPS);
  const peakAt = (step: number) => (step < first.step ? 1e-3 : step < second.step ? 5e-4 : 2.5e-4);
  expect(rates).toEqual(upTo(STEPS).map((step) => rateAt(step, peakAt(step))));
  expect(await controlsOf('tuned')).toMatchObject([
    { control: 'setLearningRate', from: 1e-3, to: 5e-4, step: first.step, reason: 'too hot' },
    { control: 'setLearningRate', from: 5e-4, to: 2.5e-4, step: second.step },
  ]);
  const twin = await held.foretold('foretold', config(), {
    done: DONE - 4,
    tell: async (other) => {
      await other.setLearningRate({ value: 5e-4, atStep: first.step });
      await other.setLearningRate({ multiplier: 0.5, atStep: second.step });
    },
  });
  expect(await runs.outcome('tuned')).toEqual(twin);
});

test('evaluations are asked for while it trains, while it rests, of a checkpoint, and of the last step', async () => {
  const gated = { type: 'plugin', name: 'gated', evaluator: 'gated', options: { gate: 'asked' } };
  plugins.open('asked');
  const { handle, run, hold } = await heldRun(
    'curious',
    config({ plugins: plugins.file, evaluators: [SUMS, gated] }),
  );

  const ofNow = await run.runEvaluation({ evaluators: ['arithmetic'], reason: 'how is it' });
  const ofCheckpoint = await run.runEvaluation({ evaluators: ['arithmetic'], checkpoint: 5 });
  await expect(run.runEvaluation({ checkpoint: 6 })).rejects.toThrow(
    /keeps no checkpoint of step 6. It keeps: .*5/,
  );
  await expect(run.runEvaluation({ evaluators: ['nope'] })).rejects.toThrow(/Unknown evaluator "nope"/);
  hold.goOn(4);
  await hold.held();
  const { step: atRest } = await run.pause();
  hold.letGo();
  await untilStatus(handle, ({ status }) => status === 'paused');
  const resting = await run.runEvaluation();
  const again = await run.runEvaluation({ evaluators: ['arithmetic'] });
  await until(async () => {
    const requested = (await run.scores()).filter(({ schedule }) => schedule === 'requested');
    return new Set(requested.map(({ step }) => step)).size === 3 ? true : null;
  });
  await untilStatus(handle, ({ pendingEvaluations }) => pendingEvaluations === 0);
  plugins.close('asked');
  await run.resume();
  await untilCell(handle, (cell) => cell.step === STEPS && cell.evaluator === 'gated');
  const ofLast = await run.runEvaluation({ evaluators: ['arithmetic'] });
  plugins.open('asked');
  await reportOf(handle);

  expect([resting.step, again.step, ofCheckpoint.step, ofLast.step]).toEqual([atRest, atRest, 5, STEPS]);
  const requested = (await stack.store.readScores('curious')).filter(
    ({ schedule }) => schedule === 'requested',
  );
  const cells = requested.map(({ step, evaluator }) => `${step} ${evaluator}`);
  expect(new Set(cells)).toEqual(
    new Set([
      `${ofNow.step} arithmetic`,
      '5 arithmetic',
      `${atRest} arithmetic`,
      `${atRest} gated`,
      `${STEPS} arithmetic`,
    ]),
  );
  expect(requested.every(({ error }) => error === undefined)).toBe(true);
  expect(await stepsOf('curious')).toEqual(upTo(STEPS));
  expect(await stack.store.readState('curious')).toMatchObject({
    finalWeightsDigest: (undisturbed as { finalWeightsDigest: string }).finalWeightsDigest,
    rewinds: 0,
  });
  const modelId = (await stack.modelOf('curious')) ?? '';
  const left = await stack.samplerPaths(modelId);
  expect(left.filter((path) => path.includes('asked') || path.endsWith(`/00${ofNow.step}`))).toEqual([]);
});

test('a schedule changes its rhythm and its evaluators from a step on', async () => {
  const broken = { type: 'plugin', name: 'broken', evaluator: 'broken', options: {} };
  const schedules = {
    plugins: plugins.file,
    evalEvery: 4,
    infrequentEvalEvery: 1000,
    infrequentEvaluators: [broken],
  };
  const { handle, run, hold } = await held.start('paced', config(schedules), {
    done: 2,
    maxHistoryEvents: 60,
  });

  await run.setEvalSchedule('evaluators', { every: { steps: 3 }, atStep: 9, reason: 'closer' });
  await run.setEvalSchedule('evaluators', { every: 'never', atStep: 18 });
  await run.setEvalSchedule('infrequentEvaluators', {
    at: [20, 21],
    add: ['arithmetic'],
    remove: ['broken'],
    atStep: 19,
  });
  const refusals = await Promise.all([
    refusalOf(run.setEvalSchedule('nope', { every: { steps: 5 } })),
    refusalOf(run.setEvalSchedule('evaluators', { add: ['nope'] })),
    refusalOf(run.setEvalSchedule('evaluators', { remove: ['arithmetic'] })),
    refusalOf(run.setEvalSchedule('evaluators', { at: [1] })),
  ]);
  hold.goOn(11);
  await hold.held();
  await held.restartEngine(hold);
  await reportOf(handle);

  expect(refusals).toEqual([
    expect.stringContaining('Unknown schedule "nope". The run has: evaluators, infrequentEvaluators.'),
    expect.stringContaining('Unknown evaluator "nope"'),
    expect.stringContaining('would have no evaluators left'),
    expect.stringContaining('Step 1 of "at" is past'),
  ]);
  expect((await stack.store.readState('paced'))?.rewinds).toBe(1);
  const rows = await stack.store.readScores('paced');
  const cells = rows.map(({ step, schedule, evaluator }) => `${step} ${schedule} ${evaluator}`).sort();
  expect(cells).toEqual(
    [
      ...[0, 4, 8, 9, 12, 15].map((step) => `${step} evaluators arithmetic`),
      '0 infrequentEvaluators broken',
      ...[20, 21, STEPS].map((step) => `${step} infrequentEvaluators arithmetic`),
    ].sort(),
  );
});

test('changes are taken while training waits for a blocking evaluation, with no worker there, and hold afterwards', async () => {
  const gated = { type: 'plugin', name: 'gated', evaluator: 'gated', options: { gate: 'hold' } };
  const schedules = [
    { name: 'hold', at: [4], atStart: false, atEnd: false, mode: 'blocking', evaluators: [gated] },
  ];
  const given = runs.config({ steps: STEPS, batchSize: 4, saveEvery: 5, plugins: plugins.file, schedules });
  plugins.close('hold');
  const handle = await runs.start('held-up', given);
  const run = everstep.run('held-up');
  await untilCell(handle, ({ step, status }) => step === 4 && status === 'running');

  const rate = await run.setLearningRate({ value: 2e-4 });
  await stack.stopWorkers();
  const pausing = run.pause({ atStep: 8 });
  await stack.startWorkers();
  const { step: atRest } = await pausing;
  plugins.open('hold');
  await untilStatus(handle, ({ status }) => status === 'paused');
  await run.resume();
  await reportOf(handle);

  expect([rate.step, atRest]).toEqual([5, 8]);
  expect(await stepsOf('held-up')).toEqual(upTo(STEPS));
  const metrics = await stack.store.readMetrics('held-up');
  const peaks = metrics.map((row) => (row['optim/lr'] ?? 0) / (1 - (row.step - 1) / STEPS));
  expect(peaks[3]).toBeCloseTo(1e-3);
  expect(peaks[4]).toBeCloseTo(2e-4);
  expect((await stack.store.readScores('held-up')).map(({ step }) => step)).toEqual([4]);
});

test('a promoted checkpoint is written down, shown, and does not expire', async () => {
  const { handle, run, hold } = await held.start('prized', config(), { done: DONE + 2 });

  const receipt = await run.promote(5, { reason: 'best so far', by: 'someone' });
  await run.promote(10);
  const refusal = await refusalOf(run.promote(9));
  hold.letGo();
  await reportOf(handle);
  const afterEnd = await run.promote(5, { reason: 'better after all', by: 'someone' });
  const refusalAfterEnd = await refusalOf(run.promote(9));
  const bestAfterEnd = await run.best();
  await run.promote(10);

  expect(afterEnd).toEqual({ control: 'promote', step: 5, from: 10, to: 5 });
  expect(refusalAfterEnd).toMatch(/keeps no checkpoint of step 9. It keeps: .*5, 10/);
  expect(bestAfterEnd).toMatchObject({ step: 5, reason: 'better after all' });
  expect(receipt).toMatchObject({ control: 'promote', step: 5, from: null, to: 5 });
  expect(refusal).toMatch(/keeps no checkpoint of step 9. It keeps: .*5, 10/);
  const best = await run.best();
  const row = (await stack.store.readCheckpoints('prized')).find(({ step }) => step === 10);
  expect(best).toMatchObject({ step: 10, name: '000010', sampler_path: row?.sampler_path });
  expect(await controlsOf('prized')).toMatchObject([
    { control: 'promote', step: 5, reason: 'best so far', by: 'someone' },
    { control: 'promote', step: 10, from: 5, to: 10 },
    { control: 'promote', step: 5, reason: 'better after all', from: 10, to: 5 },
    { control: 'promote', step: 10, from: 5, to: 10 },
  ]);
  const modelId = (await stack.modelOf('prized')) ?? '';
  const response = await fetch(`${stack.engine.url}/api/v1/training_runs/${modelId}/checkpoints`);
  const { checkpoints } = (await response.json()) as {
    checkpoints: { tinker_path: string; expires_at: string | null }[];
  };
  const expiring = (name: string) =>
    checkpoints.filter((one) => one.tinker_path.endsWith(name)).map((one) => one.expires_at === null);
  expect(expiring('/000010')).toEqual([true, true]);
  expect(expiring('/000005')).toEqual([true, true]);
});

test('several settings are one change: all at one step, or none where one is refused', async () => {
  const schedules = ['often', 'seldom'].map((name) => ({ name, every: { steps: 50 }, evaluators: [SUMS] }));
  const given = runs.config({ steps: STEPS, batchSize: 4, schedules });
  const { handle, run, hold } = await heldRun('together', given);
  const both = { often: { every: { steps: 30 } }, seldom: { every: 'never' as const } };
  const atStep = DONE + 5;

  const refusal = await run
    .set({ learningRate: { value: 5e-4 }, schedules: { ...both, third: { at: [5] } } })
    .catch((error: unknown) => error);
  const before = await controlsOf('together');
  const changes = { learningRate: { value: 5e-4 }, schedules: both, budget: { tokens: 1e9 } };
  const receipts = await run.set({ ...changes, atStep, by: 'me', reason: 'to see' });
  const rows = await controlsOf('together');
  const status = await run.status();
  hold.letGo();
  await reportOf(handle);

  expect(refusal).toMatchObject({ code: 'refused', message: expect.stringContaining('"third"') as string });
  expect(before).toEqual([]);
  expect(receipts.map(({ control }) => control)).toEqual([
    'setBudget',
    'setLearningRate',
    'setEvalSchedule',
    'setEvalSchedule',
  ]);
  expect(receipts.slice(1).map(({ step }) => step)).toEqual([atStep, atStep, atStep]);
  expect(rows).toMatchObject(receipts.map((receipt) => ({ ...receipt, by: 'me', reason: 'to see' })));
  expect(rows.at(-2)?.to).toMatchObject({ schedule: 'often', when: { steps: 30 } });
  expect(rows.at(-1)?.to).toMatchObject({ schedule: 'seldom', when: 'never' });
  expect(status.budget?.limits.tokens).toBe(1e9);
});

test('what is not valid is refused with a reason and changes nothing', async () => {
  const { handle, run, hold } = await heldRun('stubborn');
  const rate = (more: object) => ask(handle, contracts.setLearningRateUpdate, { ...RATE, ...more });
  const pause = (more: object) => ask(handle, contracts.pauseUpdate, { ...PAUSE, ...more });

  const refusals = [
    await rate({ value: -1 }),
    await rate({ value: 0 }),
    await rate({ value: Number.NaN }),
    await rate({ value: 'fast' }),
    await rate({ value: 1e-3, multiplier: 2 }),
    await rate({ value: null, multiplier: 1e6 }),
    await rate({ value: 1e-3, atStep: 1 }),
    await rate({ value: 1e-3, atStep: STEPS + 1 }),
    await rate({ value: 1e-3, reason: 'x'.repeat(5000) }),
    await rate({ value: 1e-3, by: 7 }),
    await pause({ seconds: 0 }),
    await pause({ seconds: -5 }),
    await pause({ then: 'explode' }),
    await pause({ atStep: 1 }),
    await pause({ atStep: STEPS }),
    await ask(handle, contracts.resumeUpdate, BY),
    await ask(handle, contracts.promoteUpdate, { ...BY, checkpoint: -1 }),
    await ask(handle, contracts.runEvaluationUpdate, { ...BY, evaluators: 'all', checkpoint: null }),
    await ask(handle, contracts.setEvalScheduleUpdate, { ...BY, schedule: 'evaluators', atStep: null }),
  ];
  await expect(run.setLearningRate({ value: -1 })).rejects.toMatchObject({ code: 'bad-config' });
  await expect(run.setLearningRate({ value: Number.NaN })).rejects.toMatchObject({ code: 'bad-config' });
  await expect(run.pause({ seconds: Infinity })).rejects.toMatchObject({ code: 'bad-config' });
  const controls = await controlsOf('stubborn');
  hold.letGo();
  await reportOf(handle);

  expect(refusals).toEqual([
    expect.stringContaining('"value" has to be a number above 0'),
    expect.stringContaining('"value" has to be a number above 0'),
    expect.stringContaining('Give "value" or "multiplier"'),
    expect.stringContaining('"value" has to be a number above 0'),
    expect.stringContaining('Give "value" or "multiplier"'),
    expect.stringContaining('The learning rate would become 1000'),
    expect.stringContaining('Step 1 is past or under way'),
    expect.stringContaining(`The run ends after step ${STEPS}`),
    expect.stringContaining('"reason" has to be a text of at most 2000'),
    expect.stringContaining('"by" has to be a text'),
    expect.stringContaining('"seconds" has to be a number above 0'),
    expect.stringContaining('"seconds" has to be a number above 0'),
    expect.stringContaining('"then" has to be'),
    expect.stringContaining('Step 1 is past or under way'),
    expect.stringContaining(`The run ends after step ${STEPS}`),
    expect.stringContaining('It is not paused'),
    expect.stringContaining('"checkpoint" has to be the step of a checkpoint'),
    expect.stringContaining('"evaluators" has to be a list'),
    expect.stringContaining('"add" has to be a list'),
  ]);
  expect(controls).toEqual([]);
  expect(await runs.outcome('stubborn')).toEqual(undisturbed);
});

describe('every change at every moment that might be a bad one; all runs come to the same', () => {
  const RATE_AT = 15;
  const RHYTHM_AT = 16;
  const PAUSE_AT = 18;
  const LAST = 22;
  let told: object;

  beforeAll(async () => {
    plugins.open('twin');
    told = await held.foretold('twin', momentConfig('twin'), {
      done: DONE,
      tell: async (run) => {
        await run.stop({ atStep: LAST });
        await run.setEvalSchedule('evaluators', { every: { steps: 3 }, atStep: RHYTHM_AT });
        await run.setLearningRate({ multiplier: 0.5, atStep: RATE_AT });
        await run.runEvaluation({ checkpoint: 5, evaluators: ['arithmetic'] });
      },
    });
  });

  function momentConfig(moment: string): SupervisedConfig {
    const gated = { type: 'plugin', name: 'gated', evaluator: 'gated', options: { gate: moment } };
    return config({ plugins: plugins.file, evalEvery: 10, evaluators: [SUMS, gated] });
  }

  type Story = Awaited<ReturnType<HeldRuns['start']>>;

  interface Moment {
    readonly name: string;
    readonly events?: number;
    /** Brings the held run there; what it returns is done once everything has been asked for. */
    readonly reach: (story: Story) => Promise<() => Promise<void>>;
    readonly isPaused?: boolean;
    readonly isEvaluating?: boolean;
  }

  const MOMENTS: readonly Moment[] = [
    {
      name: 'training',
      reach: ({ hold }) =>
        Promise.resolve(() => {
          hold.letGo();
          return Promise.resolve();
        }),
    },
    {
      name: 'evaluation',
      isEvaluating: true,
      reach: async ({ handle, hold, run }) => {
        // For the segment to hand over, and with it the weights to be evaluated.
        await run.setBudget({ tokens: 1e9 });
        await untilCell(handle, ({ evaluator, status }) => evaluator === 'gated' && status === 'running');
        return () => {
          hold.letGo();
          plugins.open('evaluation');
          return Promise.resolve();
        };
      },
    },
    {
      name: 'pause',
      isPaused: true,
      reach: async ({ handle, hold, run }) => {
        await run.pause();
        hold.letGo();
        await untilStatus(handle, ({ status }) => status === 'paused');
        return async () => {
          await run.resume();
        };
      },
    },
    {
      name: 'continues',
      events: 60,
      reach: async ({ handle, hold }) => {
        const first = (await handle.describe()).runId;
        return async () => {
          hold.letGo();
          await until(async () => ((await handle.describe()).runId === first ? null : true));
        };
      },
    },
    {
      name: 'worker',
      reach: async ({ hold }) => {
        await stack.stopWorkers();
        const starting = stack.startWorkers();
        return async () => {
          await starting;
          hold.letGo();
        };
      },
    },
  ];

  test.each(MOMENTS)('$name', async ({ name, events, reach, isPaused = false, isEvaluating = false }) => {
    if (!isEvaluating) plugins.open(name);
    const more = events === undefined ? {} : { maxHistoryEvents: events };
    const story = await heldRun(name, momentConfig(name), more);
    const { handle, run } = story;
    const then = await reach(story);

    await Promise.all([
      run.setLearningRate({ multiplier: 0.5, atStep: RATE_AT }),
      run.setEvalSchedule('evaluators', { every: { steps: 3 }, atStep: RHYTHM_AT }),
      run.setBudget({ tokens: 1e12 }),
      run.runEvaluation({ checkpoint: 5, evaluators: ['arithmetic'] }),
      run.promote(5),
    ]);
    await run.pause(isPaused ? { seconds: 3600 } : { atStep: PAUSE_AT });
    await run.stop({ atStep: LAST });
    await then();
    if (!isPaused) {
      const live = await untilStatus(handle, ({ status }) => status === 'paused');
      expect(live).toMatchObject({ step: PAUSE_AT, stopAt: LAST, budget: { limits: { tokens: 1e12 } } });
      await run.resume();
    }
    const report = await reportOf(handle);

    expect(report).toMatchObject({ status: 'stopped', step: LAST });
    expect(await runs.outcome(name)).toEqual(told);
    expect(await run.best()).toMatchObject({ step: 5 });
    const rows = (await controlsOf(name)).map(({ control, step }) => `${control} ${step}`);
    expect(rows).toEqual(
      expect.arrayContaining([
        `setLearningRate ${RATE_AT}`,
        `setEvalSchedule ${RHYTHM_AT}`,
        'runEvaluation 5',
        'promote 5',
        `stop ${LAST}`,
        ...(isPaused ? [] : [`pause ${PAUSE_AT}`, `resume ${PAUSE_AT + 1}`]),
      ]),
    );
    expect(rows).toHaveLength(isPaused || isEvaluating ? 9 : 8);
  });
});

const BY = { by: 'test', reason: '' };
const RATE = { ...BY, value: null, multiplier: null, atStep: null };
const PAUSE = { ...BY, atStep: null, seconds: null, then: 'resume' };

async function ask(
  handle: WorkflowHandle,
  update: { readonly name: string },
  request: object,
): Promise<string> {
  return refusalOf(handle.executeUpdate(update.name, { args: [request] }));
}

async function refusalOf(asking: Promise<unknown>): Promise<string> {
  const error: unknown = await asking.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof WorkflowUpdateFailedError) return error.cause?.message ?? '';
  if (error instanceof Error && error.name === 'DomainError') return error.message;
  throw new Error('It was not refused.', { cause: error });
}
