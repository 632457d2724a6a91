import { existsSync } from 'node:fs';
import type { SupervisedConfig } from '../../src/config/supervised-config';
import { createTinkerClient } from '../../src/engines/tinker/client';
import { HeldRuns } from './harness/held-runs';
import type { TestRuns } from './harness/runs';
import { reportOf } from './harness/runs';
import type { TestStack } from './harness/stack';

let held: HeldRuns;
let stack: TestStack;
let runs: TestRuns;

beforeAll(async () => {
  held = await HeldRuns.start();
  ({ stack, runs } = held);
});

afterEach(() => {
  held.training.letAllGo();
});

afterAll(() => held.close());

function config(more: object = {}): SupervisedConfig {
  return runs.config({ steps: 6, batchSize: 4, ...more });
}

test('of rolling checkpoints only the newest is kept, and none once the run is saved for good', async () => {
  await runs.train('rolling', config({ steps: 9, saveEvery: 0, rollingSaveEvery: 2 }));

  const rows = await stack.store.readCheckpoints('rolling');
  const client = createTinkerClient({ baseUrl: stack.engine.url });
  const modelId = (rows[0]?.state_path ?? '').replace('tinker://', '').split('/')[0] ?? '';
  const kept = (await client.listCheckpoints(modelId)).map(({ path }) => path);
  await client.close();
  expect(rows.map(({ name, rolling }) => [name, rolling ?? false])).toEqual([
    ['000000', false],
    ['000002', true],
    ['000004', true],
    ['000006', true],
    ['000008', true],
    ['final', false],
  ]);
  expect(rows.filter(({ state_path }) => kept.includes(state_path ?? '')).map(({ name }) => name)).toEqual([
    '000000',
    'final',
  ]);
});

test('a run starts from the weights of another, by RUN@STEP or by URI', async () => {
  const constant = { lrSchedule: 'constant', saveEvery: 3 };
  await runs.train('origin', config(constant));
  const [, third] = await stack.store.readCheckpoints('origin');

  await Promise.all([
    runs.train('by-name', config({ ...constant, initialCheckpoint: 'origin@3' })),
    runs.train('by-uri', config({ ...constant, initialCheckpoint: third?.state_path })),
  ]);

  const firstNll = async (run: string) => (await stack.store.readMetrics(run))[0]?.['train/nll'];
  expect(await firstNll('by-name')).toBe(await firstNll('by-uri'));
  expect(Number(await firstNll('by-name'))).toBeLessThan(Number(await firstNll('origin')));
});

test('an initial checkpoint that is not there fails the run, naming what is', async () => {
  await runs.train('short', config({ steps: 2 }));

  const lost = runs.train('lost', config({ initialCheckpoint: 'short@99' }));

  await expect(lost).rejects.toMatchObject({ cause: { type: 'unknown-checkpoint' } });
  expect(existsSync(stack.store.runFolder('lost'))).toBe(false);
});

test('a run that was started from another is rewound without it', async () => {
  await runs.train('parent', config({ steps: 3, saveEvery: 0 }));
  const child = config({ steps: 10, saveEvery: 4, initialCheckpoint: 'parent@3' });
  const calm = await runs.train('calm-child', child);
  const { handle, hold } = await held.start('child', child, { done: 6 });

  await stack.store.discard('parent');
  await held.restartEngine(hold);

  const report = await reportOf(handle);
  expect(report.finalWeightsDigest).toBe(calm.finalWeightsDigest);
  expect(await stack.store.readState('child')).toMatchObject({ status: 'completed', rewinds: 1 });
});
