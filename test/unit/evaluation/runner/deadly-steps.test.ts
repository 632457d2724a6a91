import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blameWorkInHand } from '../../../../src/evaluation/foreign-work';
import { DeadlySteps, isDeadly } from '../../../../src/evaluation/runner/deadly-steps';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-deadly-steps-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const kept = () => Promise.resolve();
const never = () => new Promise<never>(() => undefined);

/** An attempt in a process of its own, which has turns of its own. */
function openAnew(): Promise<DeadlySteps> {
  let open = (path: string) => DeadlySteps.open(path);
  jest.isolateModules(() => {
    // oxlint-disable-next-line typescript/no-require-imports -- what `import` would have typed
    const own = require('../../../../src/evaluation/runner/deadly-steps') as {
      DeadlySteps: typeof DeadlySteps;
    };
    open = (path) => own.DeadlySteps.open(path);
  });
  return open(folder);
}

/** An attempt whose process dies while the step of this key is taken. */
async function dieWith(key: string): Promise<void> {
  const steps = await openAnew();
  const begun = new Promise<void>((resolve) => {
    void steps.take(key, kept, () => {
      resolve();
      return never();
    });
  });
  await begun;
}

test('care is taken after two deaths, and a step that the process died with three times is given up alone', async () => {
  await DeadlySteps.open(folder);
  expect((await DeadlySteps.open(folder)).isCareful).toBe(false);
  for (let death = 0; death < 3; death++) await dieWith('c');

  const steps = await DeadlySteps.open(folder);

  expect(steps.isCareful).toBe(true);
  await expect(steps.take('c', kept, () => Promise.resolve(1))).rejects.toThrow(
    "the worker's process died 3 times while this alone was judged",
  );
  const error: unknown = await steps
    .take('c', kept, () => Promise.resolve(1))
    .catch((thrown: unknown) => thrown);
  expect(isDeadly(error)).toBe(true);
  expect(await steps.take('d', kept, () => Promise.resolve(2))).toBe(2);
});

test('a step that has ended is not what a later death is counted for, and an attempt that ends leaves nothing', async () => {
  for (let death = 0; death < 5; death++) {
    const steps = await DeadlySteps.open(folder);
    await steps.take('a', kept, () => Promise.resolve(1));
  }

  const steps = await DeadlySteps.open(folder);
  expect(await steps.take('a', kept, () => Promise.resolve(1))).toBe(1);
  await steps.end();

  expect(existsSync(join(folder, 'attempt.json'))).toBe(false);
  expect((await DeadlySteps.open(folder)).isCareful).toBe(false);
});

test('steps are taken one by one, each after what it rests on is kept, and one that throws holds up no other', async () => {
  const steps = await DeadlySteps.open(folder);
  const told: string[] = [];
  const step = (name: string) =>
    steps.take(
      name,
      () => {
        told.push(`kept ${name}`);
        return Promise.resolve();
      },
      async () => {
        told.push(`begun ${name}`);
        await new Promise(setImmediate);
        told.push(`done ${name}`);
        if (name === 'a') throw new Error('mine');
      },
    );

  const [first] = await Promise.allSettled([step('a'), step('b')]);

  expect(first).toMatchObject({ status: 'rejected', reason: new Error('mine') });
  expect(told).toEqual(['kept a', 'begun a', 'done a', 'kept b', 'begun b', 'done b']);
});

test('a mark that somebody has changed is as good as none', async () => {
  writeFileSync(join(folder, 'attempt.json'), '{"deaths": "many"}');

  expect((await DeadlySteps.open(folder)).isCareful).toBe(false);
});

test('of two shards of a process one is in a step at a time, and a step that never ends has its turn until its attempt is over', async () => {
  const [first, second] = await Promise.all([DeadlySteps.open(folder), DeadlySteps.open(folder)]);
  let isBegun = false;
  const hanging = first.take('a', kept, never);
  const waiting = second.take('b', kept, () => {
    isBegun = true;
    return Promise.resolve('done');
  });
  await new Promise(setImmediate);
  expect(isBegun).toBe(false);

  await first.end();

  await expect(hanging).rejects.toThrow('The attempt is over');
  expect(await waiting).toBe('done');
});

test('a step that is known to have ended two processes is given up', async () => {
  const foreign = (steps: DeadlySteps) => steps.run('a', 'example "a"', () => Promise.resolve(1));
  for (let death = 0; death < 2; death++) {
    const steps = await DeadlySteps.open(folder);
    await steps.run('a', 'example "a"', () => {
      blameWorkInHand('a loop at /plugin.js:3');
      return Promise.resolve(1);
    });
  }

  const steps = await DeadlySteps.open(folder);

  expect(steps.isCareful).toBe(true);
  await expect(foreign(steps)).rejects.toThrow(
    "the worker's process was ended 2 times because of this: a loop at /plugin.js:3.",
  );
  expect(await steps.run('b', 'example "b"', () => Promise.resolve(2))).toBe(2);
});
