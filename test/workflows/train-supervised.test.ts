import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { SupervisedConfig } from '../../src/config/supervised-config';
import type { TrainReport } from '../../src/workflows/contracts';
import { statusQuery } from '../../src/workflows/contracts';
import { TestStack } from './harness/stack';

let stack: TestStack;

beforeAll(async () => {
  stack = await TestStack.start(1);
  await stack.startWorkers();
  const rows = Array.from({ length: 64 }, (_, index) => ({
    messages: [
      { role: 'user', content: `${index}+${index}=` },
      { role: 'assistant', content: String(2 * index) },
    ],
  }));
  writeFileSync(join(stack.folder, 'train.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  writeFileSync(
    join(stack.folder, 'test.jsonl'),
    rows
      .slice(0, 8)
      .map((row) => `${JSON.stringify(row)}\n`)
      .join(''),
  );
}, 120_000);

afterAll(() => stack.stop());

function config(more: object = {}): SupervisedConfig {
  return SupervisedConfig.parse({
    kind: 'sft',
    model: 'everstep/tiny',
    dataset: { path: join(stack.folder, 'train.jsonl') },
    steps: 12,
    batchSize: 16,
    learningRate: 1e-3,
    loraRank: 4,
    saveEvery: 5,
    ...more,
  });
}

async function start(run: string, given: SupervisedConfig): Promise<WorkflowHandle> {
  return stack.client.workflow.start('trainSupervised', {
    taskQueue: 'everstep',
    workflowId: `train/${run}`,
    args: [
      {
        run,
        config: given,
        useSearchAttributes: false,
        provenance: { everstepVersion: 'test', codeRevision: null, startedBy: 'test', command: [] },
      },
    ],
  });
}

async function train(run: string, given: SupervisedConfig): Promise<TrainReport> {
  const handle = await start(run, given);
  const report: TrainReport = await handle.result();
  return report;
}

async function untilStep(handle: WorkflowHandle, step: number): Promise<void> {
  for (;;) {
    const status = await handle.query(statusQuery);
    if (status.step >= step) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('trains every step once and leaves metrics, checkpoints and a digest', async () => {
  const report = await train('plain', config());

  const metrics = await stack.store.readMetrics('plain');
  const checkpoints = await stack.store.readCheckpoints('plain');
  expect(report).toMatchObject({ status: 'completed', step: 12, totalSteps: 12 });
  expect(metrics.map(({ step }) => step)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
  expect(checkpoints.map(({ name }) => name)).toEqual(['000000', '000005', '000010', 'final']);
  expect(report.finalWeightsDigest).toMatch(/^[0-9a-f]{64}$/);
});

test('gives the same weights and metrics under another name', async () => {
  const first = await train('twin-a', config({ seed: 7 }));
  const second = await train('twin-b', config({ seed: 7 }));
  const other = await train('twin-c', config({ seed: 8 }));

  expect(second.finalWeightsDigest).toBe(first.finalWeightsDigest);
  expect(await stack.store.readMetrics('twin-b')).toEqual(await stack.store.readMetrics('twin-a'));
  expect(other.finalWeightsDigest).not.toBe(first.finalWeightsDigest);
});

test('an engine that lost its models is rewound to the last checkpoint, with the same result', async () => {
  const given = config({ steps: 300, batchSize: 64, saveEvery: 20 });
  const calm = await train('calm', given);
  const handle = await start('rewound', given);
  await untilStep(handle, 30);

  await stack.restartEngine();

  const report: TrainReport = await handle.result();
  const state = await stack.store.readState('rewound');
  expect(report.finalWeightsDigest).toBe(calm.finalWeightsDigest);
  expect(await stack.store.readMetrics('rewound')).toEqual(await stack.store.readMetrics('calm'));
  expect(state).toMatchObject({ status: 'completed', rewinds: 1 });
}, 120_000);

test('scores the test split unasked, at step 0, on the way and at the end', async () => {
  const dataset = { path: join(stack.folder, 'train.jsonl'), testPath: join(stack.folder, 'test.jsonl') };

  await train('scored', config({ dataset, evalEvery: 5 }));

  const scores = await stack.store.readScores('scored');
  const nll = scores.filter(({ metric }) => metric === 'nll');
  expect(nll.map(({ step }) => step).sort((a, b) => a - b)).toEqual([0, 5, 10, 12]);
  expect(nll.every(({ value, n, schedule }) => (value ?? 0) > 0 && n > 0 && schedule === 'evaluators')).toBe(
    true,
  );
});
