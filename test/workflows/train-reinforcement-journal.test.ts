import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { reportOf, until, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

const LIMIT_MS = 240_000;

let stack: TestStack;
let runs: ReinforcementRuns;

beforeAll(async () => {
  stack = await TestStack.start();
  runs = new ReinforcementRuns(stack);
  await stack.startWorkers();
}, LIMIT_MS);

afterAll(() => stack.stop(), LIMIT_MS);

const IN_TURNS = { steps: 20, saveEvery: 0, evalEvery: 0 };
const STREAMED = { ...IN_TURNS, streamedMinibatches: 2 };

/** Has the run train everything once more from what is journalled, with something done to the journal before. */
async function rewound(run: string, config: object, spoil: () => void) {
  const handle = await runs.start(run, runs.config(config));
  await until(async () => ((await stack.store.readLastMetrics(run))?.step ?? 0) >= 6 || null);
  await stack.stopWorkers();
  spoil();
  await stack.restartEngine();
  await stack.startWorkers();
  return handle;
}

function groupFile(run: string, step: number, group: number): string {
  return join(stack.store.runFolder(run), 'rollouts', String(step), `${group}.jsonl`);
}

test.each([
  ['in-turns', IN_TURNS],
  ['streamed', STREAMED],
])(
  'rollouts that somebody removed are sampled again when a rewind comes by, with the same weights: %s',
  async (mode, config) => {
    await runs.train(`steady-${mode}`, runs.config(config));

    const handle = await rewound(`thinned-${mode}`, config, () => {
      for (const group of [0, 2]) rmSync(groupFile(`thinned-${mode}`, 3, group));
      rmSync(groupFile(`thinned-${mode}`, 5, 1));
    });
    await reportOf(handle);

    expect(await runs.outcome(`thinned-${mode}`)).toEqual(await runs.outcome(`steady-${mode}`));
    expect(await stack.store.readState(`thinned-${mode}`)).toMatchObject({ rewinds: 1 });
  },
  LIMIT_MS,
);

test(
  'sampled ahead of training they are sampled again with the weights there are',
  async () => {
    const handle = await rewound('thinned-ahead', { ...IN_TURNS, maxStepsOffPolicy: 2 }, () => {
      rmSync(groupFile('thinned-ahead', 3, 0));
    });
    await reportOf(handle);

    const steps = (await stack.store.readMetrics('thinned-ahead')).map(({ step }) => step);
    expect(steps).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(existsSync(groupFile('thinned-ahead', 3, 0))).toBe(true);
  },
  LIMIT_MS,
);

test(
  'rollouts that are torn, or of another group, are waited for by name until somebody removes them',
  async () => {
    const [torn, swapped] = [groupFile('spoilt', 2, 1), groupFile('spoilt', 4, 3)];
    await runs.train('unspoilt', runs.config(IN_TURNS));

    const handle = await rewound('spoilt', IN_TURNS, () => {
      writeFileSync(torn, readFileSync(torn).subarray(0, 700));
      copyFileSync(groupFile('spoilt', 1, 3), swapped);
    });
    for (const file of [torn, swapped]) {
      const { waitingFor } = await untilStatus(
        handle,
        ({ waitingFor: wait }) => wait?.what.includes(file) === true,
      );
      expect(waitingFor?.what).toMatch(
        /does not hold a whole group of rollouts of its step and number.* Remove the file/,
      );
      rmSync(file);
    }
    await reportOf(handle);

    expect(await runs.outcome('spoilt')).toEqual(await runs.outcome('unspoilt'));
  },
  LIMIT_MS,
);
