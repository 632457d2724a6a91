import { Everstep } from '../../src/client/everstep';
import { join } from 'node:path';
import type { ReinforcementConfig } from '../../src/config/reinforcement-config';
import { HeldTraining } from './harness/held-training';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { reportOf, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

/** A limit in dollars of runs that draw what they train on: the engine counts, prompts and groups that are left out as well. */
const PRICES = { training: 1e6, prefill: 2e6, sampling: 3e6 };

let stack: TestStack;
let runs: ReinforcementRuns;
let training: HeldTraining;
let everstep: Everstep;
let cost: number;

beforeAll(async () => {
  training = await HeldTraining.create();
  stack = await TestStack.start({ runtime: training });
  runs = new ReinforcementRuns(stack);
  await stack.startWorkers();
  const { address, namespace, folder } = stack;
  everstep = await Everstep.connect({ address, namespace, store: join(folder, 'store') });
  cost = await billOf(() => runs.train('calm', config()));
});

afterEach(() => {
  training.letAllGo();
});

afterAll(async () => {
  await everstep.close();
  await stack.stop();
});

function config(more: object = {}): ReinforcementConfig {
  return runs.config({
    ...{ steps: 4, groupsPerBatch: 2, evalEvery: 0, evaluators: [], removeConstantRewardGroups: true },
    engine: { prices: { 'everstep/tiny': PRICES } },
    ...more,
  });
}

/** By the counts of the engine: a token of training costs a dollar. */
async function billOf(work: () => Promise<unknown>): Promise<number> {
  const { tokenCount, drawn } = training;
  const { prompt, sampled } = drawn;
  await work();
  return training.tokenCount - tokenCount + 2 * (drawn.prompt - prompt) + 3 * (drawn.sampled - sampled);
}

test('counts prompts and groups that are left out, and pauses before it is exceeded', async () => {
  const limit = Math.round(cost * 0.6);
  const handle = await runs.start('thrifty', config({ budget: { dollars: limit } }));
  const bill = await billOf(() => untilStatus(handle, ({ status }) => status === 'paused'));
  const { budget, pause } = await untilStatus(handle, ({ status }) => status === 'paused');
  const run = everstep.run('thrifty');
  await expect(run.resume()).rejects.toThrow(/would not fit the budget/);
  await run.setBudget({ dollars: null });
  await run.resume();
  await reportOf(handle);

  expect(bill).toBeGreaterThan(0);
  expect(bill).toBeLessThanOrEqual(limit);
  expect(budget?.spent.dollars).toBeCloseTo(bill, 6);
  expect(pause).toMatchObject({ by: 'budget' });
  const digests = await Promise.all(['calm', 'thrifty'].map((name) => stack.store.readState(name)));
  expect(digests[1]?.finalWeightsDigest).toBe(digests[0]?.finalWeightsDigest);
});

test('is kept although workers die while they draw', async () => {
  const limit = Math.round(cost * 0.8);
  const draws = training.holdDraws(3);
  const bill = await billOf(async () => {
    const handle = await runs.start('mortal', config({ budget: { dollars: limit } }));
    await draws.held(1);
    await stack.stopWorkers();
    training.letAllGo();
    await stack.startWorkers();
    await untilStatus(handle, ({ status }) => status === 'paused');
  });

  const handle = stack.client.workflow.getHandle('train/mortal');
  const { budget } = await untilStatus(handle, ({ status }) => status === 'paused');
  expect(bill).toBeLessThanOrEqual(budget?.spent.dollars ?? 0);
  expect(budget?.spent.dollars).toBeLessThanOrEqual(limit);
});
