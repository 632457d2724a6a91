import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reportOf, TestRuns } from './harness/runs';
import { TestStack } from './harness/stack';
import { KeptWorker, WorkerProcess } from './harness/worker-process';

/** A plug-in file whose evaluator takes its first worker's process down with it. */
const SOURCE = `
const fs = require('node:fs');
const path = require('node:path');
module.exports = { evaluators: {
  deadly: () => ({ name: 'deadly', kind: 'sampling', async evaluate() {
    const died = path.join(__dirname, 'died');
    if (!fs.existsSync(died)) {
      fs.writeFileSync(died, '');
      process.exit(1);
    }
    return { quality: 1 };
  } }),
} };
`;

let stack: TestStack;
let steady: WorkerProcess;
let sampling: KeptWorker;

beforeAll(async () => {
  stack = await TestStack.start();
  steady = WorkerProcess.start(stack, ['workflows', 'training']);
  sampling = new KeptWorker(() => WorkerProcess.start(stack, ['sampling']));
});

afterAll(async () => {
  await Promise.all([steady.kill(), sampling.stop()]);
  await stack.stop();
});

test('the timeline of a run tells once that a worker was lost with an evaluation in hand', async () => {
  const runs = new TestRuns(stack);
  const plugins = join(stack.folder, 'everstep.config.js');
  writeFileSync(plugins, SOURCE);
  const evaluators = [{ type: 'plugin', name: 'deadly', evaluator: 'deadly', options: {} }];
  const { dataset } = runs.config();
  const config = runs.config({
    dataset,
    plugins,
    steps: 2,
    batchSize: 4,
    saveEvery: 0,
    evalEvery: 2,
    evaluators,
  });

  const report = await reportOf(await runs.start('bereaved', config));

  const events = await stack.store.readEvents('bereaved');
  expect(report).toMatchObject({ status: 'completed', step: 2 });
  expect(events.filter(({ kind }) => kind === 'worker lost').map(({ text }) => text)).toEqual([
    expect.stringMatching(
      /^a worker was gone or failed: evaluator deadly goes on with step \d on another worker, or on the same one begun again \(attempt 2\)$/,
    ),
  ]);
});
