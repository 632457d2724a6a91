import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reportOf, TestRuns } from './harness/runs';
import { TestStack } from './harness/stack';
import { WorkerProcess } from './harness/worker-process';

/** A machine whose clock is more than a year behind. */
const BEHIND_MS = 400 * 24 * 3600 * 1000;
const SOURCE = `
const { now } = Date;
const Real = Date;
globalThis.Date = class extends Real {
  constructor(...given) { super(...(given.length === 0 ? [now() - ${BEHIND_MS}] : given)); }
  static now() { return now() - ${BEHIND_MS}; }
};
`;

let stack: TestStack;
let worker: WorkerProcess;

beforeAll(async () => {
  stack = await TestStack.start();
  const clock = join(stack.folder, 'clock.js');
  writeFileSync(clock, SOURCE);
  worker = WorkerProcess.start(stack, [], { NODE_OPTIONS: `--require ${clock}` });
});

afterAll(async () => {
  await worker.kill();
  await stack.stop();
});

test('a run begins, ends and has its budget of time by the server’s clock, whatever those of its workers say', async () => {
  const runs = new TestRuns(stack);
  const config = { steps: 2, batchSize: 4, saveEvery: 0, evalEvery: 0, budget: { seconds: 3600 } };
  const before = Date.now();

  const report = await reportOf(await runs.start('late', runs.config(config)));

  const state = await stack.store.readState('late');
  const [startedAt, closedAt] = [state?.startedAt, state?.closedAt].map((at) => Date.parse(at ?? ''));
  const [timing] = await stack.store.readTiming('late');
  expect(report).toMatchObject({ status: 'completed', step: 2 });
  // Its worker's clock is what the test says it is.
  expect(Date.parse(timing?.at ?? '')).toBeLessThan(before - BEHIND_MS / 2);
  expect(startedAt).toBeGreaterThan(before - 60_000);
  expect(closedAt).toBeGreaterThanOrEqual(startedAt ?? NaN);
});
