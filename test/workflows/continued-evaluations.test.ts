import { createTinkerClient } from '../../src/engines/tinker/client';
import type { Connected } from './harness/connected';
import { connect, disconnect } from './harness/connected';
import { reportOf, until, untilStatus } from './harness/runs';

/** Runs that are gone on with while evaluations lack their results: what is measured from a saved state is not trained again. */

const STEPS = 4;
const LONGER = 30;

let at: Connected;
let { stack, runs, plugins, everstep } = {} as Connected;

beforeAll(async () => {
  at = await connect();
  ({ stack, runs, plugins, everstep } = at);
});

afterAll(() => disconnect(at));

function config(gate: string, more: object = {}) {
  const { dataset } = runs.config();
  return runs.config({
    dataset: { ...dataset, testPath: runs.testPath },
    ...{ plugins: plugins.file, steps: STEPS, batchSize: 4, saveEvery: 0, evalEvery: STEPS, ...more },
    evaluators: [{ type: 'plugin', name: 'mine', evaluator: 'gated', options: { gate } }],
  });
}

/** A run whose evaluator hangs from step 0 on, cancelled when all is trained. */
async function cancelled(run: string) {
  const handle = await runs.start(run, config(run));
  await untilStatus(handle, ({ step }) => step === STEPS);
  await everstep.run(run).cancel();
  await until(async () => ((await handle.describe()).status.name === 'RUNNING' ? null : true));
}

async function goOn(run: string): Promise<{ readonly trained: number; readonly told: string | undefined }> {
  const before = await stack.stepsApplied();
  await everstep.continue(run);
  plugins.open(run);
  await reportOf(stack.client.workflow.getHandle(`train/${run}`));
  const trained = (await stack.stepsApplied()) - before;
  const told = (await stack.store.readEvents(run)).find(({ kind }) => kind === 'continued');
  return { trained, told: told?.text };
}

/** Of the undisturbed twin; all evaluators of these runs measure the same. */
async function expectWhole(run: string, twin = 'twin', more: object = {}): Promise<void> {
  plugins.open(twin);
  if (!(await stack.store.exists(twin))) await runs.train(twin, config(twin, more));
  expect(await runs.outcome(run)).toEqual(await runs.outcome(twin));
  const cells = (await runs.scores(run)).map(({ step, evaluator }) => `${step}/${evaluator}`);
  expect(cells).toEqual(expect.arrayContaining(['0/mine', '0/test', `${STEPS}/mine`, `${STEPS}/test`]));
}

/** Weights to sample from that the engine keeps of all models. */
async function keptWeights(): Promise<string[]> {
  const url = `${stack.engine.url}/api/v1/training_runs?limit=1000`;
  const { training_runs: models } = (await (await fetch(url)).json()) as {
    training_runs: { training_run_id: string }[];
  };
  const paths = await Promise.all(
    models.map(({ training_run_id: model }) => stack.samplerPaths(model).catch(() => [])),
  );
  return paths.flat();
}

test('an evaluation of step 0 that hung is measured from its saved state, and nothing is trained again', async () => {
  const run = 'mended';
  await cancelled(run);
  const rows = await stack.store.readCheckpoints(run);
  expect(rows.map(({ step, sampler_path }) => [step, sampler_path !== null])).toEqual([
    [0, false],
    [STEPS, true],
  ]);

  const { trained, told } = await goOn(run);

  expect(trained).toBe(0);
  expect(told).toBe(`from the checkpoint of step ${STEPS}; measured from its saved state: step 0`);
  await expectWhole(run);
  expect(await stack.store.readCheckpoints(run)).toEqual(rows);
  const kept = await keptWeights();
  expect(kept).toContain(rows[1]?.sampler_path);
  expect(kept.filter((path) => !path.endsWith('/final'))).toEqual([]);
});

test('one whose state is gone by then is trained to again, and said so', async () => {
  const run = 'forgotten';
  await cancelled(run);
  const [first] = await stack.store.readCheckpoints(run);
  const client = createTinkerClient({ baseUrl: stack.engine.url });
  await client.deleteCheckpoint(first?.state_path ?? '');
  await client.close();

  const { trained, told } = await goOn(run);

  expect(trained).toBe(STEPS);
  expect(told).toBe(`from its beginning: steps 1 to ${STEPS}, and what was sent behind, trained again`);
  const { remarks } = (await stack.store.readState(run)) ?? {};
  expect(remarks).toContainEqual(
    expect.stringMatching(
      /^Checkpoint 000000 was to be measured for the evaluations of step 0, and cannot be: /,
    ),
  );
  await expectWhole(run);
});

test('a run that was terminated in the middle goes on from its last checkpoint, and measures what it had not', async () => {
  const run = 'terminated';
  const more = { steps: 2 * STEPS, saveEvery: 2, evalEvery: 2 };
  const handle = await runs.start(run, config(run, more));
  await untilStatus(handle, ({ step }) => step >= STEPS);
  await handle.terminate('to see');
  const rows = await stack.store.readCheckpoints(run);

  const { told } = await goOn(run);

  expect(rows.find(({ step }) => step === 0)).toMatchObject({ sampler_path: null });
  expect(told).toMatch(/^from the checkpoint of step [1-9].*; measured from its saved state: step 0$/);
  await expectWhole(run, 'whole', more);
});

/** With one schedule, whose evaluator hangs until it is let go on; training waits for another one before its first step. */
function scheduled(gate: string, every: object, held = '') {
  const gated = (name: string, file: string) => ({
    ...{ type: 'plugin', name, evaluator: 'gated', options: { gate: file } },
  });
  const schedules = [
    { name: 'mine', every, evaluators: [gated('mine', gate)] },
    ...(held ? [{ name: 'first', at: [0], mode: 'blocking', evaluators: [gated('first', held)] }] : []),
  ];
  const { dataset } = runs.config();
  return runs.config({
    dataset,
    plugins: plugins.file,
    steps: LONGER,
    batchSize: 4,
    saveEvery: 5,
    schedules,
  });
}

/** When all is trained and of its evaluations only that of step 0 has begun. */
async function terminate(run: string) {
  const handle = stack.client.workflow.getHandle(`train/${run}`);
  await untilStatus(handle, ({ step, totalSteps }) => step === totalSteps);
  await until(() => (plugins.calls(run) > 0 ? true : null));
  await handle.terminate('to see');
}

const measuredSteps = async (run: string) =>
  (await runs.scores(run)).filter(({ evaluator }) => evaluator === 'mine').map(({ step }) => step);

test('evaluations that were due by tokens and had not begun are measured', async () => {
  const [run, twin] = ['by-tokens', 'by-tokens-twin'] as const;
  const every = { tokens: 300 };
  plugins.open(twin);
  await runs.train(twin, scheduled(twin, every));
  await runs.start(run, scheduled(run, every));
  await terminate(run);

  await goOn(run);

  expect((await measuredSteps(twin)).length).toBeGreaterThan(3);
  expect(await runs.outcome(run)).toEqual(await runs.outcome(twin));
});

test('evaluations that were due by the clock and had not begun are measured, at the steps that the clock asked for', async () => {
  const [run, held] = ['by-clock', 'by-clock-held'] as const;
  const handle = await runs.start(run, scheduled(run, { seconds: 0.001 }, held));
  // The clock is asked between segments, of which a pause makes two.
  await untilStatus(handle, ({ step }) => step === 0);
  await everstep.run(run).pause({ atStep: 11 });
  plugins.open(held);
  await untilStatus(handle, ({ status }) => status === 'paused');
  await everstep.run(run).resume();
  await terminate(run);
  const sent = await stack.store.readSent(run);
  const asked = sent.flatMap(({ step, schedules }) => (schedules?.includes('mine') ? [step] : []));

  await goOn(run);

  expect(asked).toContain(12);
  expect(await measuredSteps(run)).toEqual(expect.arrayContaining([0, ...asked]));
  expect(await runs.outcome(run)).toMatchObject({ status: 'completed', step: LONGER });
});
