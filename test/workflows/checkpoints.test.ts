import { existsSync } from 'node:fs';
import { createTinkerClient } from '../../src/engines/tinker/client';
import { reportOf, TestRuns, until } from './harness/runs';
import { TestStack } from './harness/stack';

let stack: TestStack;
let runs: TestRuns;

beforeAll(async () => {
  stack = await TestStack.start();
  runs = new TestRuns(stack);
  await stack.startWorkers();
}, 120_000);

afterAll(() => stack.stop());

test('of rolling checkpoints only the newest is kept, and none once the run is saved for good', async () => {
  await runs.train('rolling', runs.config({ steps: 9, saveEvery: 0, rollingSaveEvery: 2 }));

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
  const constant = { lrSchedule: 'constant', saveEvery: 6 };
  await runs.train('origin', runs.config(constant));
  const [, sixth] = await stack.store.readCheckpoints('origin');

  await runs.train('by-name', runs.config({ ...constant, initialCheckpoint: 'origin@6' }));
  await runs.train('by-uri', runs.config({ ...constant, initialCheckpoint: sixth?.state_path }));
  await runs.train('from-base', runs.config(constant));

  const firstNll = async (run: string) => (await stack.store.readMetrics(run))[0]?.['train/nll'];
  expect(await firstNll('by-name')).toBe(await firstNll('by-uri'));
  expect(Number(await firstNll('by-name'))).toBeLessThan(Number(await firstNll('from-base')));
});

test('an initial checkpoint that is not there fails the run, naming what is', async () => {
  await runs.train('short', runs.config({ steps: 2 }));

  const lost = runs.train('lost', runs.config({ initialCheckpoint: 'short@99' }));

  await expect(lost).rejects.toMatchObject({ cause: { type: 'checkpoint-missing' } });
  expect(existsSync(stack.store.runFolder('lost'))).toBe(false);
});

test('a run that was started from another is rewound without it', async () => {
  await runs.train('parent', runs.config({ steps: 3, saveEvery: 0 }));
  const config = runs.config({ steps: 120, batchSize: 64, saveEvery: 10, initialCheckpoint: 'parent@3' });
  const calm = await runs.train('calm-child', config);
  const handle = await runs.start('child', config);
  await until(async () => ((await stack.store.readMetrics('child')).length >= 15 ? true : null));

  await stack.store.discard('parent');
  await stack.restartEngine();

  const report = await reportOf(handle);
  expect(report.finalWeightsDigest).toBe(calm.finalWeightsDigest);
  expect(await stack.store.readState('child')).toMatchObject({ status: 'completed', rewinds: 1 });
});
