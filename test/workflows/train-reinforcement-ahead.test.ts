import { ReinforcementRuns } from './harness/reinforcement-runs';
import { reportOf, until } from './harness/runs';
import { TestStack } from './harness/stack';
import { WorkerProcess } from './harness/worker-process';

const LIMIT_MS = 240_000;

let stack: TestStack;
let runs: ReinforcementRuns;

beforeAll(async () => {
  stack = await TestStack.start();
  runs = new ReinforcementRuns(stack);
  await stack.startWorkers();
}, LIMIT_MS);

afterAll(() => stack.stop(), LIMIT_MS);

async function expectEachStepOnce(run: string, steps: number): Promise<void> {
  const metrics = await stack.store.readMetrics(run);
  const state = await stack.store.readState(run);
  expect(state).toMatchObject({ status: 'completed', step: steps });
  expect(metrics.map(({ step }) => step)).toEqual(Array.from({ length: steps }, (_, index) => index + 1));
  expect(Object.keys(runs.rollouts(run))).toHaveLength(steps * 4);
}

/** How far the weights that drew each token were behind those that it trains. */
function delays(run: string): number[] {
  return Object.entries(runs.rollouts(run)).flatMap(([place, text]) => {
    const step = Number(place.split('/')[0]);
    return [...text.matchAll(/"policy_version":(\d+)/g)].map(([, version]) => step - 1 - Number(version));
  });
}

test(
  'samples ahead with weights at most K steps old, and counts every batch once',
  async () => {
    await runs.train('ahead', runs.config({ steps: 8, maxStepsOffPolicy: 2, evalEvery: 0 }));

    await expectEachStepOnce('ahead', 8);
    expect(Math.max(...delays('ahead'))).toBeLessThanOrEqual(2);
    expect(Math.max(...delays('ahead'))).toBeGreaterThan(0);
    expect(Math.min(...delays('ahead'))).toBeGreaterThanOrEqual(0);
  },
  LIMIT_MS,
);

test(
  'counts every batch once when its worker is killed while it samples ahead',
  async () => {
    await stack.stopWorkers();

    const handle = await runs.start(
      'ahead-killed',
      runs.config({ steps: 8, maxStepsOffPolicy: 1, evalEvery: 0 }),
    );
    for (const step of [1, 4]) {
      const worker = WorkerProcess.start(stack);
      await until(
        async () => ((await stack.store.readLastMetrics('ahead-killed'))?.step ?? 0) >= step || null,
      );
      await worker.kill();
    }
    await stack.startWorkers();
    await reportOf(handle);

    await expectEachStepOnce('ahead-killed', 8);
    expect(Math.max(...delays('ahead-killed'))).toBeLessThanOrEqual(1);
  },
  LIMIT_MS,
);

test(
  'streamed minibatches leave what an undisturbed streamed run leaves, although the engine loses the model',
  async () => {
    const given = runs.config({ streamedMinibatches: 2, numSubsteps: 2 });
    await runs.train('streamed', given);
    const handle = await runs.start('streamed-lost', given);
    await until(async () => ((await stack.store.readLastMetrics('streamed-lost'))?.step ?? 0) >= 2 || null);
    await stack.restartEngine();
    await reportOf(handle);

    const metrics = await stack.store.readMetrics('streamed');
    expect(metrics.map((row) => row['optim/updates'])).toEqual([2, 4, 6, 8, 10, 12]);
    expect(await runs.outcome('streamed-lost')).toEqual(await runs.outcome('streamed'));
  },
  LIMIT_MS,
);

test(
  'a KL penalty compares with journalled log-probabilities of the reference',
  async () => {
    await runs.train('near', runs.config({ steps: 3, klPenaltyCoef: 0.1, evalEvery: 0 }));

    const [first, , last] = await stack.store.readMetrics('near');
    expect(Math.abs(first?.['kl_policy_base'] ?? 1)).toBeLessThan(1e-5);
    expect(Math.abs(last?.['kl_policy_base'] ?? 0)).toBeGreaterThan(1e-6);
  },
  LIMIT_MS,
);

test(
  'goes on in new executions without losing what is sampled ahead',
  async () => {
    const given = runs.config({ steps: 8, maxStepsOffPolicy: 1, evalEvery: 0 });
    await runs.train('long', given, { maxHistoryEvents: 60 });

    await expectEachStepOnce('long', 8);
  },
  LIMIT_MS,
);
