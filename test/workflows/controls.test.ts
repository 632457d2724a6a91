import { WorkflowUpdateFailedError } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import type { RunHandle } from '../../src/client/run-handle';
import { Everstep } from '../../src/client/everstep';
import * as contracts from '../../src/workflows/contracts';
import { TestPlugins } from './harness/plugins';
import { reportOf, TestRuns, until, untilCell, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

let stack: TestStack;
let runs: TestRuns;
let plugins: TestPlugins;
let everstep: Everstep;

beforeAll(async () => {
  stack = await TestStack.start();
  await stack.startWorkers();
  runs = new TestRuns(stack);
  plugins = new TestPlugins(stack.folder);
  const { address, namespace } = stack;
  everstep = await Everstep.connect({ address, namespace, store: `${stack.folder}/store` });
}, 120_000);

afterAll(async () => {
  await everstep.close();
  await stack.stop();
});

/** Steps ahead that a run has not passed when it is told, however busy the machine is. */
const FAR = 400;

const SUMS = { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 4 };

function longRun(more: object = {}) {
  return runs.config({
    steps: 4000,
    batchSize: 64,
    saveEvery: 25,
    evalEvery: 50,
    evaluators: [SUMS],
    ...more,
  });
}

const controlsOf = async (run: string) => stack.store.readControls(run);

async function stepsOf(run: string): Promise<number[]> {
  return (await stack.store.readMetrics(run)).map(({ step }) => step);
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

/** The undisturbed twin of a run that was stopped at a step. */
async function twin(
  run: string,
  config: ReturnType<typeof longRun>,
  prepare: (handle: RunHandle) => Promise<void>,
) {
  const handle = await runs.start(run, config);
  await prepare(everstep.run(run));
  await reportOf(handle);
  return runs.outcome(run);
}

test('a paused run trains nothing, goes on where it was, and ends like one that was never paused', async () => {
  const handle = await runs.start('rested', longRun());
  await untilStatus(handle, ({ step }) => step >= 30);
  const run = everstep.run('rested');

  const { step } = await run.pause({ reason: 'lunch', by: 'someone' });
  await untilStatus(handle, ({ status }) => status === 'paused');
  const atRest = await stepsOf('rested');
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const later = await stepsOf('rested');
  const stored = await stack.store.readState('rested');
  await run.resume({ reason: 'back', by: 'someone' });
  await untilStatus(handle, (status) => status.step > step);
  const { step: last } = await run.stop();
  const report = await reportOf(handle);

  expect(atRest).toEqual(upTo(step));
  expect(later).toEqual(atRest);
  expect(stored).toMatchObject({ status: 'paused', step });
  expect(report).toMatchObject({ status: 'stopped', step: last });
  expect(await controlsOf('rested')).toMatchObject([
    { control: 'pause', by: 'someone', reason: 'lunch', step, to: { step, seconds: null, then: 'resume' } },
    { control: 'resume', reason: 'back', step: step + 1, from: 'paused', to: 'running' },
    { control: 'stop', step: last },
  ]);
  const undisturbed = await twin('restless', longRun(), async (other) => {
    await other.stop({ atStep: last });
  });
  expect(await runs.outcome('rested')).toEqual({ ...undisturbed });
}, 120_000);

test('a learning rate holds from its step on, is multiplied, and a rewind trains each step with the one it had', async () => {
  const handle = await runs.start('tuned', longRun());
  const run = everstep.run('tuned');
  await untilStatus(handle, ({ step }) => step >= 30);

  const first = await run.setLearningRate({ value: 5e-4, reason: 'too hot' });
  const second = await run.setLearningRate({ multiplier: 0.5, atStep: first.step + FAR });
  await untilStatus(handle, ({ step }) => step > first.step + FAR + 20);
  await stack.restartEngine();
  await untilStatus(handle, ({ rewinds }) => rewinds === 1);
  await stack.stopWorkers();
  await stack.startWorkers();
  await untilStatus(handle, ({ step }) => step > first.step + FAR + 40);
  const { step: last } = await run.stop();
  await reportOf(handle);

  expect(first).toMatchObject({ from: 1e-3, to: 5e-4 });
  expect(second).toMatchObject({ from: 5e-4, to: 2.5e-4, step: first.step + FAR });
  const rates = (await stack.store.readMetrics('tuned')).map((row) => row['optim/lr']);
  const rateAt = (step: number, peak: number) => peak * (1 - (step - 1) / 4000);
  const peakAt = (step: number) => (step < first.step ? 1e-3 : step < second.step ? 5e-4 : 2.5e-4);
  expect(rates).toEqual(upTo(last).map((step) => rateAt(step, peakAt(step))));
  expect(await controlsOf('tuned')).toMatchObject([
    { control: 'setLearningRate', from: 1e-3, to: 5e-4, step: first.step, reason: 'too hot' },
    { control: 'setLearningRate', from: 5e-4, to: 2.5e-4, step: second.step },
    { control: 'stop' },
  ]);
  const undisturbed = await twin('foretold', longRun(), async (other) => {
    await other.setLearningRate({ value: 5e-4, atStep: first.step });
    await other.setLearningRate({ multiplier: 0.5, atStep: second.step });
    await other.stop({ atStep: last });
  });
  expect(await runs.outcome('tuned')).toEqual(undisturbed);
}, 180_000);

test('evaluations are asked for while it trains, while it rests, of a checkpoint, and of the last step', async () => {
  const gated = { type: 'plugin', name: 'gated', evaluator: 'gated', options: { gate: 'asked' } };
  const config = longRun({
    plugins: plugins.file,
    evaluators: [SUMS, gated],
    evalEvery: 3900,
  });
  plugins.open('asked');
  const handle = await runs.start('curious', config);
  const run = everstep.run('curious');
  await untilStatus(handle, ({ step }) => step >= 30);
  await until(async () => ((await run.scores()).length >= 2 ? true : null));

  const training = await run.runEvaluation({ evaluators: ['arithmetic'], reason: 'how is it' });
  const ofCheckpoint = await run.runEvaluation({ evaluators: ['arithmetic'], checkpoint: 25 });
  await expect(run.runEvaluation({ checkpoint: 26 })).rejects.toThrow(
    /keeps no checkpoint of step 26. It keeps: .*25/,
  );
  await expect(run.runEvaluation({ evaluators: ['nope'] })).rejects.toThrow(/Unknown evaluator "nope"/);
  const { step: atRest } = await run.pause();
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
  const { step: last } = await run.stop();
  await untilCell(handle, (cell) => cell.step === last && cell.evaluator === 'gated');
  const ofLast = await run.runEvaluation({ evaluators: ['arithmetic'] });
  plugins.open('asked');
  await reportOf(handle);

  expect([resting.step, again.step, ofCheckpoint.step, ofLast.step]).toEqual([atRest, atRest, 25, last]);
  const requested = (await stack.store.readScores('curious')).filter(
    ({ schedule }) => schedule === 'requested',
  );
  const cells = requested.map(({ step, evaluator }) => `${step} ${evaluator}`);
  expect(new Set(cells)).toEqual(
    new Set([
      `${training.step} arithmetic`,
      '25 arithmetic',
      `${atRest} arithmetic`,
      `${atRest} gated`,
      `${last} arithmetic`,
    ]),
  );
  expect(requested.every(({ error }) => error === undefined)).toBe(true);
  const metrics = await stack.store.readMetrics('curious');
  expect(metrics.map(({ step }) => step)).toEqual(upTo(last));
  const undisturbed = await twin('incurious', longRun({ evalEvery: 3900 }), async (other) => {
    await other.stop({ atStep: last });
  });
  expect(await stack.store.readState('curious')).toMatchObject({
    finalWeightsDigest: (undisturbed as { finalWeightsDigest: string }).finalWeightsDigest,
    rewinds: 0,
  });
  const modelId = (await stack.modelOf('curious')) ?? '';
  const left = await stack.samplerPaths(modelId);
  expect(left.filter((path) => path.includes('asked') || path.endsWith(`/00${training.step}`))).toEqual([]);
}, 180_000);

test('a schedule changes its rhythm and its evaluators from a step on', async () => {
  const broken = { type: 'plugin', name: 'broken', evaluator: 'broken', options: {} };
  const config = longRun({
    plugins: plugins.file,
    evalEvery: 400,
    evaluators: [SUMS],
    infrequentEvalEvery: 3000,
    infrequentEvaluators: [broken],
  });
  const handle = await runs.start('paced', config, { maxHistoryEvents: 60 });
  const run = everstep.run('paced');
  await untilStatus(handle, ({ step }) => step >= 20);
  await run.setEvalSchedule('evaluators', { every: { steps: 20 }, atStep: 810, reason: 'closer' });
  await run.setEvalSchedule('evaluators', { every: 'never', atStep: 870 });
  await run.setEvalSchedule('infrequentEvaluators', {
    at: [880, 890],
    add: ['arithmetic'],
    remove: ['broken'],
    atStep: 875,
  });
  const refusals = await Promise.all([
    refusalOf(run.setEvalSchedule('nope', { every: { steps: 5 } })),
    refusalOf(run.setEvalSchedule('evaluators', { add: ['nope'] })),
    refusalOf(run.setEvalSchedule('evaluators', { remove: ['arithmetic'] })),
    refusalOf(run.setEvalSchedule('evaluators', { at: [1] })),
  ]);
  await run.stop({ atStep: 900 });
  await untilStatus(handle, ({ step }) => step >= 830);
  await stack.restartEngine();
  await reportOf(handle);

  expect(refusals).toEqual([
    expect.stringContaining('Unknown schedule "nope". The run has: evaluators, infrequentEvaluators.'),
    expect.stringContaining('Unknown evaluator "nope"'),
    expect.stringContaining('would have no evaluators left'),
    expect.stringContaining('Step 1 of "at" is past'),
  ]);
  const rows = await stack.store.readScores('paced');
  const cells = rows.map(({ step, schedule, evaluator }) => `${step} ${schedule} ${evaluator}`).sort();
  expect(cells).toEqual(
    [
      ...[0, 400, 800, 820, 840, 860].map((step) => `${step} evaluators arithmetic`),
      '0 infrequentEvaluators broken',
      ...[880, 890, 900].map((step) => `${step} infrequentEvaluators arithmetic`),
    ].sort(),
  );
}, 180_000);

test('changes are taken while training waits for a blocking evaluation, with no worker there, and hold afterwards', async () => {
  const gated = { type: 'plugin', name: 'gated', evaluator: 'gated', options: { gate: 'hold' } };
  const schedules = [
    { name: 'hold', at: [40], atStart: false, atEnd: false, mode: 'blocking', evaluators: [gated] },
  ];
  const config = runs.config({ steps: 4000, batchSize: 64, saveEvery: 25, plugins: plugins.file, schedules });
  plugins.close('hold');
  const handle = await runs.start('held-up', config);
  const run = everstep.run('held-up');
  await untilCell(handle, ({ step, status }) => step === 40 && status === 'running');

  const rate = await run.setLearningRate({ value: 2e-4 });
  await stack.stopWorkers();
  const pausing = run.pause({ atStep: 60 });
  await new Promise((resolve) => setTimeout(resolve, 500));
  await stack.startWorkers();
  const { step: atRest } = await pausing;
  plugins.open('hold');
  await untilStatus(handle, ({ status }) => status === 'paused');
  await run.resume();
  const { step: last } = await run.stop();
  await reportOf(handle);

  expect([rate.step, atRest]).toEqual([41, 60]);
  const metrics = await stack.store.readMetrics('held-up');
  expect(metrics.map(({ step }) => step)).toEqual(upTo(last));
  const peaks = metrics.map((row) => (row['optim/lr'] ?? 0) / (1 - (row.step - 1) / 4000));
  expect(peaks[39]).toBeCloseTo(1e-3);
  expect(peaks[40]).toBeCloseTo(2e-4);
  expect((await stack.store.readScores('held-up')).map(({ step }) => step)).toEqual([40]);
}, 180_000);

test('a promoted checkpoint is written down, shown, and does not expire', async () => {
  const handle = await runs.start('prized', longRun());
  const run = everstep.run('prized');
  await untilStatus(handle, ({ step }) => step >= 55);

  const receipt = await run.promote(25, { reason: 'best so far', by: 'someone' });
  await run.promote(50);
  const refusal = await refusalOf(run.promote(49));
  await run.stop();
  await reportOf(handle);

  expect(receipt).toMatchObject({ control: 'promote', step: 25, from: null, to: 25 });
  expect(refusal).toMatch(/keeps no checkpoint of step 49. It keeps: .*25, 50/);
  const best = await run.best();
  const row = (await stack.store.readCheckpoints('prized')).find(({ step }) => step === 50);
  expect(best).toMatchObject({ step: 50, name: '000050', sampler_path: row?.sampler_path });
  expect(await controlsOf('prized')).toMatchObject([
    { control: 'promote', step: 25, reason: 'best so far', by: 'someone' },
    { control: 'promote', step: 50, from: 25, to: 50 },
    { control: 'stop' },
  ]);
  const modelId = (await stack.modelOf('prized')) ?? '';
  const response = await fetch(`${stack.engine.url}/api/v1/training_runs/${modelId}/checkpoints`);
  const { checkpoints } = (await response.json()) as {
    checkpoints: { tinker_path: string; expires_at: string | null }[];
  };
  const expiring = (name: string) =>
    checkpoints.filter((one) => one.tinker_path.endsWith(name)).map((one) => one.expires_at === null);
  expect(expiring('/000050')).toEqual([true, true]);
  expect(expiring('/000025')).toEqual([true, true]);
}, 120_000);

test('several settings are one change: all at one step, or none where one is refused', async () => {
  const schedules = ['often', 'seldom'].map((name) => ({ name, every: { steps: 50 }, evaluators: [SUMS] }));
  const config = runs.config({ steps: 4000, batchSize: 64, schedules });
  const handle = await runs.start('together', config);
  const run = everstep.run('together');
  await untilStatus(handle, ({ step }) => step >= 20);
  const both = { often: { every: { steps: 30 } }, seldom: { every: 'never' as const } };

  const refusal = await run
    .set({ learningRate: { value: 5e-4 }, schedules: { ...both, third: { at: [5] } } })
    .catch((error: unknown) => error);
  const before = await controlsOf('together');
  const changes = { learningRate: { value: 5e-4 }, schedules: both, budget: { tokens: 1e9 } };
  const receipts = await run.set({ ...changes, atStep: FAR, by: 'me', reason: 'to see' });
  const rows = await controlsOf('together');
  const status = await run.status();
  await run.stop();
  await reportOf(handle);

  expect(refusal).toMatchObject({ code: 'refused', message: expect.stringContaining('"third"') as string });
  expect(before).toEqual([]);
  expect(receipts.map(({ control }) => control)).toEqual([
    'setBudget',
    'setLearningRate',
    'setEvalSchedule',
    'setEvalSchedule',
  ]);
  expect(receipts.slice(1).map(({ step }) => step)).toEqual([FAR, FAR, FAR]);
  expect(rows).toMatchObject(receipts.map((receipt) => ({ ...receipt, by: 'me', reason: 'to see' })));
  expect(rows.at(-2)?.to).toMatchObject({ schedule: 'often', when: { steps: 30 } });
  expect(rows.at(-1)?.to).toMatchObject({ schedule: 'seldom', when: 'never' });
  expect(status.budget?.limits.tokens).toBe(1e9);
}, 60_000);

test('what is not valid is refused with a reason and changes nothing', async () => {
  const handle = await runs.start('stubborn', longRun());
  const run = everstep.run('stubborn');
  await untilStatus(handle, ({ step }) => step >= 20);
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
    await rate({ value: 1e-3, atStep: 4001 }),
    await rate({ value: 1e-3, reason: 'x'.repeat(5000) }),
    await rate({ value: 1e-3, by: 7 }),
    await pause({ seconds: 0 }),
    await pause({ seconds: -5 }),
    await pause({ then: 'explode' }),
    await pause({ atStep: 1 }),
    await pause({ atStep: 4000 }),
    await ask(handle, contracts.resumeUpdate, BY),
    await ask(handle, contracts.promoteUpdate, { ...BY, checkpoint: -1 }),
    await ask(handle, contracts.runEvaluationUpdate, { ...BY, evaluators: 'all', checkpoint: null }),
    await ask(handle, contracts.setEvalScheduleUpdate, { ...BY, schedule: 'evaluators', atStep: null }),
  ];
  await expect(run.setLearningRate({ value: -1 })).rejects.toMatchObject({ code: 'bad-config' });
  await expect(run.setLearningRate({ value: Number.NaN })).rejects.toMatchObject({ code: 'bad-config' });
  await expect(run.pause({ seconds: Infinity })).rejects.toMatchObject({ code: 'bad-config' });
  const controls = await controlsOf('stubborn');
  const { step: last } = await run.stop();
  await reportOf(handle);

  expect(refusals).toEqual([
    expect.stringContaining('"value" has to be a number above 0'),
    expect.stringContaining('"value" has to be a number above 0'),
    expect.stringContaining('Give "value" or "multiplier"'),
    expect.stringContaining('"value" has to be a number above 0'),
    expect.stringContaining('Give "value" or "multiplier"'),
    expect.stringContaining('The learning rate would become 1000'),
    expect.stringContaining('Step 1 is past or under way'),
    expect.stringContaining('The run ends after step 4000'),
    expect.stringContaining('"reason" has to be a text of at most 2000'),
    expect.stringContaining('"by" has to be a text'),
    expect.stringContaining('"seconds" has to be a number above 0'),
    expect.stringContaining('"seconds" has to be a number above 0'),
    expect.stringContaining('"then" has to be'),
    expect.stringContaining('Step 1 is past or under way'),
    expect.stringContaining('The run ends after step 4000'),
    expect.stringContaining('It is not paused'),
    expect.stringContaining('"checkpoint" has to be the step of a checkpoint'),
    expect.stringContaining('"evaluators" has to be a list'),
    expect.stringContaining('"add" has to be a list'),
  ]);
  expect(controls).toEqual([]);
  const undisturbed = await twin('willing', longRun(), async (other) => {
    await other.stop({ atStep: last });
  });
  expect(await runs.outcome('stubborn')).toEqual(undisturbed);
}, 120_000);

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
