import { join } from 'node:path';
import { Everstep } from '../../src/client/everstep';
import { HeldTraining } from './harness/held-training';
import { reportOf, TestRuns, until } from './harness/runs';
import { TestStack } from './harness/stack';

const PLACE = 'a free place on a worker (everstep-training)';

let training: HeldTraining;
let stack: TestStack;
let runs: TestRuns;
let everstep: Everstep;

beforeAll(async () => {
  training = await HeldTraining.create();
  stack = await TestStack.start({ runtime: training });
  runs = new TestRuns(stack);
  await stack.startWorkers({}, { concurrency: { training: 1 } });
  const { address, namespace, folder } = stack;
  everstep = await Everstep.connect({ address, namespace, store: join(folder, 'store') });
});

afterAll(async () => {
  training.letAllGo();
  await everstep.close();
  await stack.stop();
  await training.close();
});

test('a worker with one place trains run after run, and says of one that waits for the place that it does', async () => {
  const hold = training.holdNext(2);
  const first = await runs.start('first', runs.config());
  await hold.held();

  const second = await runs.start('second', runs.config());
  await until(async () => {
    const { status, waitingFor } = await everstep.run('second').status();
    return status === 'waiting' && waitingFor?.what.includes(PLACE) === true ? true : null;
  });
  hold.letGo();

  expect((await reportOf(first)).status).toBe('completed');
  expect((await reportOf(second)).status).toBe('completed');
  expect((await everstep.run('second').status()).waitingFor).toBeNull();
});
