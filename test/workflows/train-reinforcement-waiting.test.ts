import { existsSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import type { ReinforcementConfig } from '../../src/config/reinforcement-config';
import * as contracts from '../../src/workflows/contracts';
import { HeldTraining } from './harness/held-training';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { reportOf, until, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

/** Everything that may befall a run while the sampler of its next step waits for weights that are still trained. */
const STEPS = 4;
/** Held while it is trained; the sampler of the step after it waits. */
const HELD = 2;
const BY = { by: 'test', reason: 'to see' };

let stack: TestStack;
let runs: ReinforcementRuns;
let training: HeldTraining;
let calm: { readonly outcome: object; readonly tokens: number };

beforeAll(async () => {
  training = await HeldTraining.create();
  stack = await TestStack.start({ runtime: training });
  runs = new ReinforcementRuns(stack);
  await stack.startWorkers();
  const before = await runs.tokensSampled();
  await runs.train('calm', config());
  calm = { outcome: await runs.outcome('calm'), tokens: (await runs.tokensSampled()) - before };
});

afterEach(() => {
  training.letGo();
});

afterAll(() => stack.stop());

function config(more: object = {}): ReinforcementConfig {
  return runs.config({ steps: STEPS, groupsPerBatch: 2, evalEvery: 0, ...more });
}

/** A run whose step is held, with a sampler that waits for its weights. */
async function waitingRun(run: string, given = config()): Promise<WorkflowHandle> {
  training.holdAfter(HELD - 1);
  const handle = await runs.start(run, given);
  await training.held();
  await runs.untilSamplerBegan(handle);
  return handle;
}

async function untilNoneUnderWay(handle: WorkflowHandle): Promise<void> {
  await until(async () => ((await runs.samplersUnderWay(handle)).length === 0 ? true : null));
}

/** What became of the sampler that waited for the held step. */
async function fateOf(handle: WorkflowHandle): Promise<unknown> {
  return (await runs.samplers(handle)).find(({ step, isEarly }) => isEarly && step === HELD + 1)?.end;
}

/** What was asked for has reached the workflow before the step under way ends. */
async function untilCalledOff(handle: WorkflowHandle): Promise<void> {
  await until(async () => ((await fateOf(handle)) === 'called off' ? true : null));
  training.letGo();
}

function stepsSampled(run: string): number {
  return new Set(Object.keys(runs.rollouts(run)).map((place) => place.split('/')[0])).size;
}

function tokensOf(row: Readonly<Record<string, number | null>>): number {
  return row['train/tokens'] ?? 0;
}

async function digestOf(run: string): Promise<string | null | undefined> {
  return (await stack.store.readState(run))?.finalWeightsDigest;
}

test('without disturbance the samplers of all steps but the first wait, and sample nothing but what is trained on', async () => {
  const handle = stack.client.workflow.getHandle('train/calm');

  const early = (await runs.samplers(handle)).filter(({ isEarly }) => isEarly);
  expect(early.map(({ end }) => end)).toEqual(early.map(() => 'completed'));
  expect(early.length).toBeGreaterThanOrEqual(STEPS - 2);
  expect(calm.tokens).toBe(runs.tokensJournalled('calm'));
  expect(existsSync(join(stack.store.runFolder('calm'), 'policy.json'))).toBe(false);
});

test('a pause calls the waiting sampler off, and the run goes on from there as if nothing had been', async () => {
  const before = await runs.tokensSampled();
  const handle = await waitingRun('paused');
  const asked = handle.executeUpdate(contracts.pauseUpdate, {
    args: [{ ...BY, atStep: null, seconds: null, then: 'resume' }],
  });
  await untilCalledOff(handle);
  await asked;
  const { step } = await untilStatus(handle, ({ status }) => status === 'paused');
  await untilNoneUnderWay(handle);

  expect((await runs.tokensSampled()) - before).toBe(runs.tokensJournalled('paused'));
  expect(stepsSampled('paused')).toBe(step);
  await handle.executeUpdate(contracts.resumeUpdate, { args: [BY] });
  await reportOf(handle);
  expect(await fateOf(handle)).toBe('called off');
  expect(await runs.outcome('paused')).toEqual(calm.outcome);
  expect((await runs.tokensSampled()) - before).toBe(calm.tokens);
});

test('a stop trains one more step, and samples none that is not trained', async () => {
  const before = await runs.tokensSampled();
  const handle = await waitingRun('stopped');
  const asked = handle.executeUpdate(contracts.stopUpdate, { args: [{ ...BY, atStep: null }] });
  await untilCalledOff(handle);
  const { step } = await asked;
  const report = await reportOf(handle);
  const tokens = (await runs.tokensSampled()) - before;
  await runs.train('short', config({ steps: step }));

  expect(report).toMatchObject({ status: 'stopped', step: HELD + 1 });
  expect(await fateOf(handle)).toBe('called off');
  expect(stepsSampled('stopped')).toBe(step);
  expect(tokens).toBe(runs.tokensJournalled('stopped'));
  expect(await digestOf('stopped')).toBe(await digestOf('short'));
});

test('a cancelled run samples nothing more', async () => {
  const before = await runs.tokensSampled();
  const handle = await waitingRun('cancelled');
  await handle.cancel();
  // Its worker hears of it with a heartbeat.
  await untilNoneUnderWay(handle);
  training.letGo();
  await handle.result().catch(() => undefined);

  expect(await stack.store.readState('cancelled')).toMatchObject({ status: 'cancelled' });
  expect(await fateOf(handle)).toBe('called off');
  expect(stepsSampled('cancelled')).toBe(HELD);
  expect((await runs.tokensSampled()) - before).toBe(runs.tokensJournalled('cancelled'));
});

test('a new learning rate has the effect it has when it was asked for long before', async () => {
  const change = { ...BY, value: 5e-4, multiplier: null };
  const twin = await runs.start('rate-twin', config());
  await twin.executeUpdate(contracts.setLearningRateUpdate, { args: [{ ...change, atStep: HELD + 1 }] });
  await reportOf(twin);
  const before = await runs.tokensSampled();
  const handle = await waitingRun('rate');
  const asked = handle.executeUpdate(contracts.setLearningRateUpdate, {
    args: [{ ...change, atStep: null }],
  });
  await untilCalledOff(handle);

  expect((await asked).step).toBe(HELD + 1);
  await reportOf(handle);
  expect(await runs.outcome('rate')).toEqual(await runs.outcome('rate-twin'));
  expect((await runs.tokensSampled()) - before).toBe(runs.tokensJournalled('rate'));
});

test('a blocking evaluation is over before the next step is sampled', async () => {
  const schedules = [
    {
      ...{ name: 'gate', at: [HELD], atStart: false, atEnd: false, mode: 'blocking' },
      evaluators: [{ type: 'rlTestSet', limit: 8 }],
    },
  ];
  const given = { evaluators: undefined, evalEvery: undefined, schedules };
  const handle = await waitingRun('blocking', config(given));
  training.letGo();
  await reportOf(handle);

  expect(await fateOf(handle)).toBe('called off');
  expect(await digestOf('blocking')).toBe(await digestOf('calm'));
  const [score] = await stack.store.readScores('blocking');
  const folder = join(stack.store.runFolder('blocking'), 'rollouts');
  const place = Object.keys(runs.rollouts('blocking')).find(
    (name) => Number(name.split('/')[0]) === HELD + 1,
  );
  expect(statSync(join(folder, place ?? '')).mtimeMs).toBeGreaterThanOrEqual(Date.parse(score?.at ?? ''));
});

test('where the budget ends the next step is not sampled', async () => {
  const rows = await stack.store.readMetrics('calm');
  const upTo = (step: number) => rows.slice(0, step).reduce((sum, row) => sum + tokensOf(row), 0);
  const half = (upTo(HELD + 1) - upTo(HELD)) / 2;
  const before = await runs.tokensSampled();
  const handle = await waitingRun('frugal', config({ budget: { tokens: Math.round(upTo(HELD) + half) } }));
  training.letGo();
  const { step } = await untilStatus(handle, ({ status }) => status === 'paused');
  await untilNoneUnderWay(handle);

  expect(step).toBe(HELD);
  expect(stepsSampled('frugal')).toBe(HELD);
  expect((await runs.tokensSampled()) - before).toBe(runs.tokensJournalled('frugal'));
  await handle.executeUpdate(contracts.setBudgetUpdate, {
    args: [{ ...BY, limits: { tokens: upTo(STEPS) * 10 } }],
  });
  await handle.executeUpdate(contracts.resumeUpdate, { args: [BY] });
  await reportOf(handle);
  expect(await runs.outcome('frugal')).toEqual(calm.outcome);
  expect((await runs.tokensSampled()) - before).toBe(calm.tokens);
});

test('a folder that is taken away is waited for by name, and the run goes on in it when it is back', async () => {
  const handle = await waitingRun('away');
  const folder = stack.store.runFolder('away');
  renameSync(folder, `${folder}-elsewhere`);
  training.letGo();
  const { waitingFor } = await untilStatus(handle, ({ status }) => status === 'waiting');

  expect(waitingFor?.what).toMatch(/has no run "away".*put it back/);
  expect(existsSync(folder)).toBe(false);
  renameSync(`${folder}-elsewhere`, folder);
  await reportOf(handle);
  expect(await runs.outcome('away')).toEqual(calm.outcome);
});

test('a worker that is stopped while its sampler waits hands over to the next one', async () => {
  const before = await runs.tokensSampled();
  const handle = await waitingRun('handed-over');
  await stack.stopWorkers();
  await stack.startWorkers();
  training.letGo();
  await reportOf(handle);

  expect(await runs.outcome('handed-over')).toEqual(calm.outcome);
  expect((await runs.tokensSampled()) - before).toBe(calm.tokens);
});

describe('with one place to sample in', () => {
  beforeAll(async () => {
    await stack.stopWorkers();
    await stack.startWorkers({}, { concurrency: { sampling: 1 } });
  });

  afterAll(async () => {
    await stack.stopWorkers();
    await stack.startWorkers();
  });

  test('no sampler keeps another run from sampling while its own is trained', async () => {
    const before = await runs.tokensSampled();
    training.holdAfter(HELD - 1);
    const first = await runs.start('first-of-two', config());
    await training.held();
    const second = await runs.start('second-of-two', config());
    const sampled = join(stack.store.runFolder('second-of-two'), 'rollouts', '1', '0.jsonl');
    await until(() => (existsSync(sampled) ? true : null));
    training.letGo();
    await Promise.all([reportOf(first), reportOf(second)]);

    expect(await runs.outcome('first-of-two')).toEqual(calm.outcome);
    expect(await runs.outcome('second-of-two')).toEqual(calm.outcome);
    expect((await runs.tokensSampled()) - before).toBe(2 * calm.tokens);
  });
});
