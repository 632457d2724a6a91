import type { WorkflowHandle } from '@temporalio/client';
import { statusQuery } from '../../src/workflows/contracts';
import { reportOf, TestRuns, until } from './harness/runs';
import { TestStack } from './harness/stack';

let stack: TestStack;
let runs: TestRuns;

beforeAll(async () => {
  stack = await TestStack.start();
  await stack.startWorkers();
  runs = new TestRuns(stack);
}, 240_000);

afterAll(() => stack.stop());

test('trains every step once and leaves metrics, checkpoints and a digest', async () => {
  const report = await runs.train('plain', runs.config());

  const metrics = await stack.store.readMetrics('plain');
  const checkpoints = await stack.store.readCheckpoints('plain');
  expect(report).toMatchObject({ status: 'completed', step: 12, totalSteps: 12 });
  expect(metrics.map(({ step }) => step)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
  expect(checkpoints.map(({ name }) => name)).toEqual(['000000', '000005', '000010', 'final']);
  expect(report.finalWeightsDigest).toMatch(/^[0-9a-f]{64}$/);
});

test('gives the same weights and metrics under another name', async () => {
  const first = await runs.train('twin-a', runs.config({ seed: 7 }));
  const second = await runs.train('twin-b', runs.config({ seed: 7 }));
  const other = await runs.train('twin-c', runs.config({ seed: 8 }));

  expect(second.finalWeightsDigest).toBe(first.finalWeightsDigest);
  expect(await stack.store.readMetrics('twin-b')).toEqual(await stack.store.readMetrics('twin-a'));
  expect(other.finalWeightsDigest).not.toBe(first.finalWeightsDigest);
});

test('scores the test split unasked, at step 0, on the way and at the end', async () => {
  const { dataset } = runs.config();

  await runs.train('scored', runs.config({ dataset: { ...dataset, testPath: runs.testPath }, evalEvery: 5 }));

  const scores = await stack.store.readScores('scored');
  const nll = scores.filter(({ metric }) => metric === 'nll');
  expect(nll.map(({ step }) => step).sort((a, b) => a - b)).toEqual([0, 5, 10, 12]);
  expect(nll.every(({ value, n, schedule }) => (value ?? 0) > 0 && n > 0 && schedule === 'evaluators')).toBe(
    true,
  );
});

/** Deep in a segment: a checkpoint and an evaluation's snapshot are done that the workflow has not heard of. */
async function untilInSegment(handle: WorkflowHandle, run: string): Promise<void> {
  await until(async () => {
    const rows = await stack.store.readMetrics(run);
    const known = await handle.query(statusQuery);
    return (rows.at(-1)?.step ?? 0) > known.step + 15 ? true : null;
  });
}

test('an engine that lost its models is rewound to a checkpoint: same weights, metrics and scores', async () => {
  const { dataset } = runs.config();
  const given = runs.config({
    dataset: { ...dataset, testPath: runs.testPath },
    steps: 80,
    batchSize: 64,
    saveEvery: 10,
    evalEvery: 5,
  });
  await runs.train('calm', given);
  const handle = await runs.start('rewound', given);
  await untilInSegment(handle, 'rewound');

  await stack.restartEngine();

  await reportOf(handle);
  const state = await stack.store.readState('rewound');
  expect(await runs.outcome('rewound')).toEqual(await runs.outcome('calm'));
  expect(state).toMatchObject({ status: 'completed', rewinds: 1 });
  expect(state?.stepsReplayed).toBeGreaterThan(0);
}, 240_000);
