import { Everstep } from '../../src/client/everstep';
import { stepsAppliedBy } from './harness/applied';
import { reportOf, TestRuns, until, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

let stack: TestStack;
let runs: TestRuns;
let everstep: Everstep;

beforeAll(async () => {
  stack = await TestStack.start();
  await stack.startWorkers();
  runs = new TestRuns(stack);
  const { address, namespace } = stack;
  everstep = await Everstep.connect({ address, namespace, store: `${stack.folder}/store` });
}, 120_000);

afterAll(async () => {
  await everstep.close();
  await stack.stop();
});

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

/** What an undisturbed run comes to that is told beforehand where to end. */
async function undisturbed(run: string, atStep: number): Promise<object> {
  const handle = await runs.start(run, longRun());
  await everstep.run(run).stop({ atStep });
  await reportOf(handle);
  return runs.outcome(run);
}

/** What the engine keeps of the model that made a checkpoint. */
async function savesOf(path: string): Promise<string[]> {
  const modelId = /^tinker:\/\/([^/]+)/.exec(path)?.[1] ?? '';
  const response = await fetch(`${stack.engine.url}/api/v1/training_runs/${modelId}/checkpoints`);
  const { checkpoints } = (await response.json()) as { checkpoints: { tinker_path: string }[] };
  return checkpoints.map(({ tinker_path }) => tinker_path);
}

async function untilReleased(run: string): Promise<void> {
  await until(async () => {
    const events = await everstep.run(run).timeline();
    return events.some(({ kind }) => kind === 'released') ? true : null;
  });
}

test('a long pause lets go of the model, outlives worker and engine, and goes on from where it was without a step again', async () => {
  let last = 0;
  let atRest = 0;
  const applied = await stepsAppliedBy(`${stack.folder}/engine`, async () => {
    const handle = await runs.start('slept', longRun(), { holdSeconds: 1 });
    const run = everstep.run('slept');
    await untilStatus(handle, ({ step }) => step >= 30);
    atRest = (await run.pause({ reason: 'night' })).step;
    const modelId = await until(() => stack.modelOf('slept'));
    await untilReleased('slept');
    expect(await stack.isModelLoaded(modelId)).toBe(false);

    await stack.stopWorkers();
    await stack.restartEngine();
    await stack.startWorkers();
    await run.resume();
    await untilStatus(handle, ({ step }) => step > atRest + 5);
    last = (await run.stop()).step;
    await reportOf(handle);
  });

  const state = await stack.store.readState('slept');
  expect(state).toMatchObject({ status: 'stopped', step: last, rewinds: 0, stepsReplayed: 0, lineage: 0 });
  expect(applied).toBe(last);
  expect(await runs.outcome('slept')).toEqual(await undisturbed('awake', last));
  const held = (await stack.store.readCheckpoints('slept')).find(({ name }) => name.endsWith('-held'));
  expect(held).toMatchObject({ step: atRest, sampler_path: null });
  expect(await savesOf(held?.state_path ?? '')).not.toContain(held?.state_path);
  const kinds = (await everstep.run('slept').timeline()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => ['paused', 'released', 'resumed'].includes(kind))).toEqual([
    'paused',
    'released',
    'resumed',
  ]);
}, 180_000);

test('a pause lasts across executions, answers meanwhile, and ends by itself', async () => {
  const handle = await runs.start('timed', longRun(), { maxHistoryEvents: 40, holdSeconds: 1 });
  const run = everstep.run('timed');
  await untilStatus(handle, ({ step }) => step >= 10);
  const { step: atRest } = await run.pause({ seconds: 600 });
  const execution = (await handle.describe()).runId;

  for (let count = 1; count <= 12; count += 1) {
    await run.setLearningRate({ value: 1e-3 / count, reason: `try ${count}` });
  }
  await until(async () => ((await handle.describe()).runId === execution ? null : true));
  await run.setLearningRate({ value: 1e-3, reason: 'as it was' });
  const { pause, status, rewinds } = await untilStatus(handle, (live) => live.pause?.until != null);
  await run.pause({ seconds: 1, then: 'stop', reason: 'enough' });
  const report = await reportOf(handle);

  expect(status).toBe('paused');
  expect(rewinds).toBe(0);
  expect(pause).toMatchObject({ step: atRest, then: 'resume' });
  expect(report).toMatchObject({ status: 'stopped', step: atRest + 1 });
  const controls = await stack.store.readControls('timed');
  expect(controls.map(({ control }) => control)).toEqual([
    'pause',
    ...Array.from({ length: 13 }, () => 'setLearningRate'),
    'pause',
    'stop',
  ]);
  expect(controls.at(-1)).toMatchObject({ by: 'deadline', reason: 'paused for 1 s', to: atRest + 1 });
  expect(await runs.outcome('timed')).toEqual(await undisturbed('untimed', atRest + 1));
}, 180_000);

test('a pause that ends by itself goes on; one asked for later begins at its step', async () => {
  const handle = await runs.start('nap', longRun());
  const run = everstep.run('nap');
  await untilStatus(handle, ({ step }) => step >= 5);

  const { step } = await run.pause({ atStep: 600, seconds: 1 });
  const live = await untilStatus(handle, ({ status }) => status === 'paused');
  await untilStatus(handle, (later) => later.step > 610);
  const { step: last } = await run.stop();
  await reportOf(handle);

  expect(step).toBe(600);
  expect(live).toMatchObject({ step: 600, pause: { step: 600 } });
  expect(await stack.store.readControls('nap')).toMatchObject([
    { control: 'pause', step: 600 },
    { control: 'resume', step: 601, by: 'deadline' },
    { control: 'stop', step: last },
  ]);
  expect(await runs.outcome('nap')).toEqual(await undisturbed('no-nap', last));
}, 180_000);

test('a run is cancelled and stopped while it is paused and its model let go of', async () => {
  const names = ['dropped', 'ended'];
  const handles = await Promise.all(names.map((run) => runs.start(run, longRun(), { holdSeconds: 1 })));
  for (const handle of handles) await untilStatus(handle, ({ step }) => step >= 10);
  for (const run of names) await everstep.run(run).pause();
  for (const run of names) await untilReleased(run);

  await everstep.run('dropped').cancel({ reason: 'changed my mind' });
  const dropped = await everstep.run('dropped').result();
  const { step } = await everstep.run('ended').stop();
  const ended = await everstep.run('ended').result();

  expect(dropped).toMatchObject({ status: 'cancelled', reason: 'changed my mind' });
  expect((await stack.store.readCheckpoints('dropped')).at(-1)).toMatchObject({ step: dropped.step });
  expect(ended).toMatchObject({ status: 'stopped', step, rewinds: 0 });
  expect(await runs.outcome('ended')).toEqual(await undisturbed('plain', step));
}, 180_000);
