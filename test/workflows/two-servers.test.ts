import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { Everstep } from '../../src/client/everstep';
import { HeldRuns } from './harness/held-runs';
import { failureOf, reportOf, until } from './harness/runs';
import { TestStack } from './harness/stack';

/** One store and one service, and two servers that know nothing of each other: namespaces share no more. */

let held: HeldRuns;
let second: TestStack;
let elsewhere: Everstep;

beforeAll(async () => {
  held = await HeldRuns.start();
  second = await TestStack.start();
  const store = held.stack.store.root;
  await second.startWorkers({ url: held.stack.engine.url }, { store });
  elsewhere = await Everstep.connect({
    ...{ address: second.address, namespace: second.namespace, store },
  });
});

afterAll(async () => {
  await elsewhere.close();
  await second.stop();
  await held.close();
});

/** As a minute later. */
function age(run: string): void {
  const folder = held.stack.store.runFolder(run);
  const old = new Date(Date.now() - 120_000);
  for (const file of readdirSync(folder)) utimesSync(join(folder, file), old, old);
}

test('a paused run is taken over by word alone, and the server that lost it neither trains it nor ends it', async () => {
  const { stack, runs } = held;
  const { dataset } = runs.config();
  const config = runs.config({
    ...{
      dataset: { ...dataset, testPath: runs.testPath },
      steps: 24,
      batchSize: 4,
      saveEvery: 5,
      evalEvery: 4,
    },
  });
  await runs.train('undisturbed', config);
  const { handle, run, hold } = await held.start('contested', config, { done: 12 });
  const pausing = run.pause({ by: 'test' });
  hold.letGo();
  await pausing;
  await until(async () => ((await stack.store.readState('contested'))?.status === 'paused' ? true : null));
  age('contested');

  await expect(elsewhere.continue('contested')).rejects.toThrow(/is paused, by its state in the store/);
  expect(await elsewhere.recoverable()).toEqual([
    expect.objectContaining({ run: 'contested', refusal: expect.stringMatching(/is paused/) as string }),
  ]);
  await elsewhere.continue('contested', { isServerGone: true });
  await until(async () => ((await elsewhere.run('contested').status()).status === 'paused' ? true : null));
  // By then it may have heard already that the run is another's.
  await run.resume({ by: 'test' }).catch(() => undefined);

  await expect(failureOf(handle)).resolves.toMatchObject({
    message: expect.stringMatching(/was taken over by another workflow/) as string,
  });
  expect(await stack.store.readState('contested')).toMatchObject({ status: 'paused', closedAt: null });
  await elsewhere.run('contested').resume({ by: 'test' });
  const report = await reportOf(second.client.workflow.getHandle('train/contested'));
  expect(report).toMatchObject({ status: 'completed', step: 24 });
  expect(await runs.outcome('contested')).toEqual(await runs.outcome('undisturbed'));
});
