import { WorkflowFailedError, WorkflowUpdateFailedError } from '@temporalio/client';
import type { WorkflowHandle } from '@temporalio/client';
import { optionalTsToMs } from '@temporalio/common/lib/time';
import { temporal } from '@temporalio/proto';
import type { SupervisedConfig } from '../../src/config/supervised-config';
import type { StopRequest } from '../../src/core/controls';
import type { Everstep } from '../../src/client/everstep';
import { stopUpdate } from '../../src/workflows/contracts';
import { HeldRuns } from './harness/held-runs';
import { TestPlugins } from './harness/plugins';
import type { TestRuns } from './harness/runs';
import { reportOf, until, untilCell, untilStatus } from './harness/runs';
import type { TestStack } from './harness/stack';

const { PENDING_ACTIVITY_STATE_CANCEL_REQUESTED: CANCEL_REQUESTED } =
  temporal.api.enums.v1.PendingActivityState;
const STEPS = 40;
/** Steps that are done where a run is held. */
const DONE = 6;

let held: HeldRuns;
let stack: TestStack;
let runs: TestRuns;
let everstep: Everstep;
let plugins: TestPlugins;

beforeAll(async () => {
  held = await HeldRuns.start();
  ({ stack, runs, everstep } = held);
  plugins = new TestPlugins(stack.folder);
});

afterEach(() => {
  held.training.letAllGo();
});

afterAll(() => held.close());

const SUMS = { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 4 };

function config(more: object = {}): SupervisedConfig {
  const { dataset } = runs.config();
  return runs.config({
    dataset: { ...dataset, testPath: runs.testPath },
    steps: STEPS,
    batchSize: 4,
    saveEvery: 5,
    evalEvery: 10,
    evaluators: [SUMS],
    ...more,
  });
}

function heldRun(name: string, given = config()) {
  return held.start(name, given, { done: DONE });
}

async function openWorkflows(run: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { workflowId } of stack.client.workflow.list({ query: 'ExecutionStatus = "Running"' })) {
    if (workflowId.includes(`/${run}`)) ids.push(workflowId);
  }
  return ids;
}

/** Until the worker that trains has been told that it is called off. */
async function untilHeard(handle: WorkflowHandle): Promise<void> {
  const heartbeat = async () => {
    const { raw } = await handle.describe();
    const told = raw.pendingActivities?.find(({ state }) => state === CANCEL_REQUESTED);
    return told ? (optionalTsToMs(told.lastHeartbeatTime) ?? 0) : null;
  };
  const before = await until(heartbeat);
  await until(async () => ((await heartbeat()) === before ? null : true));
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
  const { handle, run, hold } = await heldRun('halted');

  const { step } = await run.stop({ reason: 'good enough', by: 'someone' });
  hold.letGo();
  const report = await reportOf(handle);
  const twin = await held.foretold('told', config(), {
    done: 0,
    tell: (other) => other.stop({ atStep: step }),
  });

  expect(step).toBeLessThanOrEqual(DONE + 3);
  expect(report).toMatchObject({ status: 'stopped', step, totalSteps: STEPS });
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
    { by: 'someone', reason: 'good enough', control: 'stop', step, from: STEPS, to: step },
  ]);
  expect(await runs.outcome('halted')).toEqual(twin);
  await until(async () => ((await openWorkflows('halted')).length === 0 ? true : null));
});

test('a stop is refused where it comes too late or makes no sense, and nothing changes', async () => {
  const { handle, run, hold } = await heldRun('firm');

  const refusals = [
    await refusalOf(stop(handle, { atStep: 5 })),
    await refusalOf(stop(handle, { atStep: STEPS + 1 })),
    await refusalOf(stop(handle, { atStep: 0.5 })),
    await refusalOf(stop(handle, { reason: 'x'.repeat(5000) })),
  ];
  const controls = await stack.store.readControls('firm');
  await stop(handle, {});
  hold.letGo();
  await reportOf(handle);

  expect(refusals).toEqual([
    expect.stringMatching(/Step 5 is past or under way; the earliest step to stop at is \d+/),
    expect.stringContaining(`beyond the run's ${STEPS} steps`),
    expect.stringContaining('"atStep" has to be a whole number'),
    expect.stringContaining('"reason" has to be a text of at most 2000'),
  ]);
  expect(controls).toEqual([]);
  await expect(run.stop()).rejects.toMatchObject({ code: 'refused' });
});

test('a stop survives a rewind and a worker that goes', async () => {
  const { handle, hold } = await heldRun('shaken');
  const atStep = 12;
  await stop(handle, { atStep });

  const again = held.training.holdNext(2);
  await held.restartEngine(hold);
  await again.held();
  await stack.stopWorkers();
  await stack.startWorkers();
  again.letGo();
  const report = await reportOf(handle);

  expect(report).toMatchObject({ status: 'stopped', step: atStep });
  expect((await stack.store.readState('shaken'))?.rewinds).toBe(1);
  const tell = (other: { stop(request: object): Promise<unknown> }) => other.stop({ atStep });
  expect(await runs.outcome('shaken')).toEqual(await held.foretold('steady', config(), { done: DONE, tell }));
});

test('cancelling saves what was reached, notes why, and leaves no evaluation, snapshot or model', async () => {
  const gated = { type: 'plugin', name: 'never', evaluator: 'gated', options: { gate: 'never' } };
  const { handle, run, hold } = await heldRun(
    'dropped',
    config({ plugins: plugins.file, evaluators: [gated], saveEvery: 0, evalEvery: 4 }),
  );
  const modelId = await until(() => stack.modelOf('dropped'));
  // For the segment to hand over, and with it the weights to be evaluated.
  await run.setBudget({ tokens: 1e12 });
  await untilCell(handle, ({ step }) => step === 4);

  await run.cancel({ reason: 'wrong data', by: 'someone' });
  // Its steps are quicker than the word of it, which comes with the answer to a heartbeat.
  await untilHeard(handle);
  hold.letGo();
  await expect(handle.result()).rejects.toBeInstanceOf(WorkflowFailedError);

  const state = await stack.store.readState('dropped');
  const metrics = await stack.store.readMetrics('dropped');
  expect(state).toMatchObject({ status: 'cancelled', reason: 'wrong data', step: metrics.at(-1)?.step });
  const saved = (await stack.store.readCheckpoints('dropped')).at(-1);
  expect(saved).toMatchObject({ step: state?.step, final: false });
  expect(await stack.store.readControls('dropped')).toMatchObject([
    { control: 'setBudget' },
    { control: 'cancel', reason: 'wrong data' },
  ]);
  expect(await stack.isModelLoaded(modelId)).toBe(false);
  await until(async () => ((await openWorkflows('dropped')).length === 0 ? true : null));
  expect(await stack.samplerPaths(modelId)).toEqual([]);
});

test('a run cancelled while it is prepared leaves nothing, and its name is free', async () => {
  await stack.engine.close();
  const handle = await runs.start('unborn', config());
  await until(async () => ((await stack.store.readOwner('unborn')) ? true : null));

  await everstep.run('unborn').cancel();
  await expect(handle.result()).rejects.toBeInstanceOf(WorkflowFailedError);

  expect(await stack.store.exists('unborn')).toBe(false);
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  await stack.restartEngine();
  const again = await runs.train('unborn', runs.config({ steps: 2, batchSize: 4 }));
  expect(again).toMatchObject({ status: 'completed', step: 2 });
});

test('a run cancelled while its engine is away ends within seconds and says what it waits for', async () => {
  const { handle, run, hold } = await heldRun('stranded');
  const away = stack.engine.close();
  hold.letGo();
  await away;

  await run.cancel({ reason: 'engine gone' });
  await untilStatus(handle, ({ waitingFor }) => /being cancelled/.test(waitingFor?.what ?? ''));
  await expect(handle.result()).rejects.toBeInstanceOf(WorkflowFailedError);

  const state = await stack.store.readState('stranded');
  expect(state).toMatchObject({ status: 'cancelled', reason: 'engine gone' });
  await stack.restartEngine();
});
