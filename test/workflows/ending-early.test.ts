import type { WorkflowHandle } from '@temporalio/client';
import { WorkflowFailedError, WorkflowUpdateFailedError } from '@temporalio/client';
import type { StopRequest } from '../../src/core/controls';
import { Everstep } from '../../src/client/everstep';
import { stopUpdate } from '../../src/workflows/contracts';
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

const SUMS = { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 4 };

function longRun(more: object = {}) {
  const { dataset } = runs.config();
  const withTest = { ...dataset, testPath: runs.testPath };
  return runs.config({
    dataset: withTest,
    steps: 4000,
    batchSize: 64,
    saveEvery: 25,
    evalEvery: 50,
    evaluators: [SUMS],
    ...more,
  });
}

async function openWorkflows(run: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { workflowId } of stack.client.workflow.list({ query: 'ExecutionStatus = "Running"' })) {
    if (workflowId.includes(`/${run}`)) ids.push(workflowId);
  }
  return ids;
}

async function stop(handle: WorkflowHandle, request: Partial<StopRequest>): Promise<unknown> {
  const args = [{ by: 'test', reason: '', atStep: null, ...request }] satisfies [StopRequest];
  return handle.executeUpdate(stopUpdate, { args });
}

async function refusalOf(asking: Promise<unknown>): Promise<string> {
  const error: unknown = await asking.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof WorkflowUpdateFailedError)) throw new Error('It was not refused.', { cause: error });
  return error.cause?.message ?? '';
}

test('a run stopped at once finishes a step, saves and evaluates it, and is like one told beforehand to end there', async () => {
  const handle = await runs.start('halted', longRun());
  await untilStatus(handle, ({ step }) => step >= 30);

  const { step } = await everstep.run('halted').stop({ reason: 'good enough', by: 'someone' });
  const report = await reportOf(handle);
  const twin = await runs.start('told', longRun());
  await stop(twin, { atStep: step });
  await reportOf(twin);

  expect(report).toMatchObject({ status: 'stopped', step, totalSteps: 4000 });
  expect(report.finalWeightsDigest).toMatch(/^[0-9a-f]{64}$/);
  expect(await stack.store.readState('halted')).toMatchObject({
    status: 'stopped',
    reason: 'good enough',
    step,
  });
  const metrics = await stack.store.readMetrics('halted');
  expect(metrics.map((row) => row.step)).toEqual(Array.from({ length: step }, (_, index) => index + 1));
  expect((await stack.store.readCheckpoints('halted')).at(-1)).toMatchObject({
    name: 'final',
    step,
    final: true,
  });
  expect((await runs.scores('halted')).filter((row) => row.step === step).map(({ key }) => key)).toEqual(
    (await runs.scores('halted')).filter((row) => row.step === 0).map(({ key }) => key),
  );
  expect(await stack.store.readControls('halted')).toMatchObject([
    { by: 'someone', reason: 'good enough', control: 'stop', step, from: 4000, to: step },
  ]);
  expect({ ...(await runs.outcome('told')) }).toEqual(await runs.outcome('halted'));
  await until(async () => ((await openWorkflows('halted')).length === 0 ? true : null));
}, 120_000);

test('a stop is refused where it comes too late or makes no sense, and nothing changes', async () => {
  const handle = await runs.start('firm', longRun());
  await untilStatus(handle, ({ step }) => step >= 20);

  const refusals = [
    await refusalOf(stop(handle, { atStep: 5 })),
    await refusalOf(stop(handle, { atStep: 4001 })),
    await refusalOf(stop(handle, { atStep: 0.5 })),
    await refusalOf(stop(handle, { reason: 'x'.repeat(5000) })),
  ];
  const controls = await stack.store.readControls('firm');
  await stop(handle, {});
  await reportOf(handle);

  expect(refusals).toEqual([
    expect.stringMatching(/Step 5 is past or under way; the earliest step to stop at is \d+/),
    expect.stringContaining("beyond the run's 4000 steps"),
    expect.stringContaining('"atStep" has to be a whole number'),
    expect.stringContaining('"reason" has to be a text of at most 2000'),
  ]);
  expect(controls).toEqual([]);
  await expect(everstep.run('firm').stop()).rejects.toMatchObject({ code: 'refused' });
}, 120_000);

test('a stop survives a rewind and a worker that goes', async () => {
  const handle = await runs.start('shaken', longRun());
  await untilStatus(handle, ({ step }) => step >= 30);
  const atStep = 200;
  await stop(handle, { atStep });

  await stack.restartEngine();
  await untilStatus(handle, ({ rewinds }) => rewinds === 1);
  await stack.stopWorkers();
  await stack.startWorkers();
  const report = await reportOf(handle);
  const twin = await runs.start('steady', longRun());
  await stop(twin, { atStep });
  await reportOf(twin);

  expect(report).toMatchObject({ status: 'stopped', step: atStep });
  expect(await runs.outcome('shaken')).toEqual(await runs.outcome('steady'));
}, 120_000);

test('cancelling saves what was reached, notes why, and leaves no evaluation, snapshot or model', async () => {
  const gated = { type: 'plugin', name: 'never', evaluator: 'gated', options: { gate: 'never' } };
  const config = longRun({ plugins: plugins.file, evaluators: [gated], saveEvery: 0, evalEvery: 20 });
  const handle = await runs.start('dropped', config);
  await untilCell(handle, ({ step }) => step >= 40);
  const modelId = await until(() => stack.modelOf('dropped'));

  await everstep.run('dropped').cancel({ reason: 'wrong data', by: 'someone' });
  await expect(handle.result()).rejects.toBeInstanceOf(WorkflowFailedError);

  const state = await stack.store.readState('dropped');
  const metrics = await stack.store.readMetrics('dropped');
  expect(state).toMatchObject({ status: 'cancelled', reason: 'wrong data', step: metrics.at(-1)?.step });
  const saved = (await stack.store.readCheckpoints('dropped')).at(-1);
  expect(saved).toMatchObject({ step: state?.step, final: false });
  expect(await stack.store.readControls('dropped')).toMatchObject([
    { control: 'cancel', reason: 'wrong data' },
  ]);
  expect(await stack.isModelLoaded(modelId)).toBe(false);
  await until(async () => ((await openWorkflows('dropped')).length === 0 ? true : null));
  expect(await stack.samplerPaths(modelId)).toEqual([]);
}, 120_000);

test('a run cancelled while it is prepared leaves nothing, and its name is free', async () => {
  await stack.engine.close();
  const handle = await runs.start('unborn', longRun());
  await until(async () => ((await stack.store.readOwner('unborn')) ? true : null));

  await everstep.run('unborn').cancel();
  await expect(handle.result()).rejects.toBeInstanceOf(WorkflowFailedError);

  expect(await stack.store.exists('unborn')).toBe(false);
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  await stack.restartEngine();
  const again = await runs.train('unborn', runs.config());
  expect(again).toMatchObject({ status: 'completed', step: 12 });
}, 120_000);

test('a run cancelled while its engine is away ends within seconds and says what it waits for', async () => {
  const handle = await runs.start('stranded', longRun());
  await untilStatus(handle, ({ step }) => step >= 20);
  await stack.engine.close();

  await everstep.run('stranded').cancel({ reason: 'engine gone' });
  await untilStatus(handle, ({ waitingFor }) => /being cancelled/.test(waitingFor?.what ?? ''));
  await expect(handle.result()).rejects.toBeInstanceOf(WorkflowFailedError);

  const state = await stack.store.readState('stranded');
  expect(state).toMatchObject({ status: 'cancelled', reason: 'engine gone' });
  await stack.restartEngine();
}, 90_000);
