import type { WorkflowHandle } from '@temporalio/client';
import { HeldTraining } from './harness/held-training';
import type { Holds } from './harness/held-training';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { reportOf, until } from './harness/runs';
import { TestStack } from './harness/stack';
import { WorkerProcess } from './harness/worker-process';

/** Runs of three kinds share their workers, which are killed while they sample, while they wait, and while they train. */
const UNMEASURED = { evalEvery: 0, evaluators: [] };
const KINDS = {
  killed: {},
  ahead: { ...UNMEASURED, maxStepsOffPolicy: 1 },
  both: { ...UNMEASURED, maxStepsOffPolicy: 1, streamedMinibatches: 2 },
} as const;
const RUNS = ['killed', 'ahead', 'both'] as const;
const GROUPS = 4;
const GROUP_SIZE = 4;
const MAX_TOKENS = 6;
/** Of one group at a time. */
const DRAWS = GROUP_SIZE + 2;

let training: HeldTraining;
let stack: TestStack;
let runs: ReinforcementRuns;
let killed: WorkflowHandle;
let sampledInAll = 0;
let delays: readonly number[];

beforeAll(async () => {
  training = await HeldTraining.create();
  stack = await TestStack.start({ runtime: training });
  runs = new ReinforcementRuns(stack);
  const updates = training.holdEach(0);
  const start = (run: keyof typeof KINDS) =>
    // One group after the other, so that it is known what is drawn of which.
    runs.start(run, runs.config({ ...KINDS[run], rolloutConcurrency: GROUP_SIZE }));
  killed = await start('killed');
  const others = [await start('ahead'), await start('both')];
  await killWhileSampling(updates);
  await killWhileWaiting(updates);
  training.letAllGo();
  await stack.startWorkers();
  await Promise.all([killed, ...others].map(reportOf));
  sampledInAll = await runs.tokensSampled();
  delays = ['ahead', 'both'].flatMap((run) => Object.values(runs.delays(run)).flat());
  await runs.train('calm', runs.config());
});

afterAll(async () => {
  training.letAllGo();
  await stack.stop();
});

/** Each run has drawn half of the second group of a step. */
async function killWhileSampling(updates: Holds): Promise<void> {
  const worker = WorkerProcess.start(stack);
  await updates.held(RUNS.length);
  await untilGroups({ killed: 1, ahead: 2, both: 2 });
  await untilMeasured(0);
  const draws = training.holdDraws(DRAWS);
  updates.goOn(2);
  await draws.held(RUNS.length);
  await untilGroups({ killed: 1, ahead: 2, both: 2 }, 1);
  await worker.kill();
  draws.letGo();
}

/** The sampling worker is killed while it waits for weights, and another does its work; then all are. */
async function killWhileWaiting(updates: Holds): Promise<void> {
  const trainer = WorkerProcess.start(stack, ['workflows', 'training']);
  const sampler = WorkerProcess.start(stack, ['sampling']);
  await updates.held(RUNS.length);
  await untilGroups({ killed: 4, ahead: 5, both: 5 });
  await untilMeasured(3);
  await runs.untilSamplerBegan(killed);
  await sampler.kill();
  const next = WorkerProcess.start(stack, ['sampling']);
  updates.goOn(0);
  await updates.held(RUNS.length);
  await untilGroups({ killed: 5, ahead: 6, both: 6 });
  await runs.untilSamplerBegan(killed);
  await Promise.all([trainer.kill(), next.kill()]);
}

/** All groups of so many steps are journalled, and so many of the next. */
async function untilGroups(steps: Readonly<Record<(typeof RUNS)[number], number>>, more = 0): Promise<void> {
  for (const run of RUNS) await runs.untilGroups(run, steps[run] * GROUPS + more);
}

async function untilMeasured(at: number): Promise<void> {
  await until(async () =>
    (await stack.store.readScores('killed')).some(({ step }) => step === at) ? true : null,
  );
}

test('a synchronous run ends bit by bit as one that nothing befell', async () => {
  expect(await runs.outcome('killed')).toEqual(await runs.outcome('calm'));
});

test.each(['ahead', 'both'])('a run that samples ahead counts every batch once: %s', async (run) => {
  await runs.expectEachBatchOnce(run, 6);
});

test('no weights are older than they may be', () => {
  expect(Math.max(...delays)).toBe(1);
  expect(Math.min(...delays)).toBe(0);
});

test('samples again at most the group that each run was in the middle of', () => {
  const kept = [...runs.tokensKept(...RUNS).values()].reduce((sum, count) => sum + count, 0);

  expect(sampledInAll - kept).toBeGreaterThan(0);
  expect(sampledInAll - kept).toBeLessThanOrEqual(RUNS.length * GROUP_SIZE * MAX_TOKENS);
});

test('what a sampler waited for when its worker was killed is sampled by the next', async () => {
  const samplers = await runs.samplers(killed);

  const waited = samplers.filter(({ isEarly, step }) => isEarly && step === 5);
  expect(waited.map(({ end }) => end)).toEqual(['completed']);
});
