import { Everstep } from '../../src/client/everstep';
import { reportOf, TestRuns, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

let stack: TestStack;
let runs: TestRuns;
let everstep: Everstep;

beforeAll(async () => {
  stack = await TestStack.start();
  await stack.startWorkers();
  runs = new TestRuns(stack);
  const { address, namespace } = stack;
  everstep = await Everstep.connect({ address, namespace, store: `${stack.folder}/store` });
}, 300_000);

afterAll(async () => {
  await everstep.close();
  await stack.stop();
});

const longRun = (saveEvery = 25) => runs.config({ steps: 4000, batchSize: 64, saveEvery });

/** Far enough ahead that the run has not passed it when the budget is set, however busy the machine is. */
const AFFORDED = 600;

test('a run whose budget is used up finishes what is under way and pauses; it goes on once there is more', async () => {
  const handle = await runs.start('frugal', longRun());
  const run = everstep.run('frugal');
  await untilStatus(handle, ({ step }) => step >= 20);
  const [row] = await run.metrics({ from: 1, to: 1 });
  const perStep = row?.['train/tokens'] ?? 0;

  const limit = perStep * (AFFORDED + 0.5);
  await run.setBudget({ tokens: limit, reason: 'poor' });
  const paused = await untilStatus(handle, ({ status }) => status === 'paused');
  await expect(run.resume()).rejects.toThrow(
    /would not fit the budget: .* tokens used. Raise the budget first/,
  );
  await run.setBudget({ tokens: null, dollars: 1000, dollarsPerMillionTokens: 0.5 });
  await run.resume();
  await untilStatus(handle, ({ step }) => step > AFFORDED + 10);
  const status = await untilStatus(handle, ({ budget }) => budget !== undefined);
  const { step: last } = await run.stop();
  await reportOf(handle);

  expect(paused).toMatchObject({
    step: AFFORDED,
    pause: {
      by: 'budget',
      step: AFFORDED,
      reason: `the next step would not fit the budget: ${perStep * AFFORDED} of ${limit} tokens used`,
    },
    budget: { spent: { tokens: perStep * AFFORDED, tokensReserved: 0, tokensOfRewinds: 0, dollars: null } },
  });
  expect(paused.budget?.warnings).toEqual([`${perStep * AFFORDED} of ${limit} tokens`]);
  expect(status.budget?.spent.dollars).toBeGreaterThan(((perStep * (AFFORDED + 10)) / 1e6) * 0.5);
  const controls = await stack.store.readControls('frugal');
  expect(controls.map(({ control, by }) => `${control} ${by === 'budget' ? by : 'person'}`)).toEqual([
    'setBudget person',
    'pause budget',
    'setBudget person',
    'resume person',
    'stop person',
  ]);
  const kinds = (await run.timeline()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'budget')).toHaveLength(1);
  const twin = await runs.start('lavish', longRun());
  await everstep.run('lavish').stop({ atStep: last });
  await reportOf(twin);
  expect(await runs.outcome('frugal')).toEqual(await runs.outcome('lavish'));
}, 300_000);

test('what rewinds cost is counted apart, and time in which a run stands still does not count', async () => {
  const handle = await runs.start('unlucky', longRun(0));
  const run = everstep.run('unlucky');
  await run.setBudget({ tokens: 1e12, seconds: 1e6, dollars: 1e6, dollarsPerMillionTokens: 1 });
  await untilStatus(handle, ({ step }) => step >= 40);
  await stack.restartEngine();
  const rewound = await untilStatus(
    handle,
    ({ rewinds, stepsReplayed }) => rewinds === 1 && stepsReplayed > 0,
  );

  const { budget } = rewound;
  const again = budget?.spent.tokensOfRewinds ?? 0;
  expect(again).toBeGreaterThan(0);
  expect(budget?.spent.dollarsOfRewinds).toBeCloseTo(again / 1e6);
  await run.pause();
  const before = await untilStatus(handle, ({ status }) => status === 'paused');
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await run.setBudget({ seconds: 1e7 });
  const after = await untilStatus(handle, (live) => live.budget?.limits.seconds === 1e7);
  expect((after.budget?.spent.seconds ?? 0) - (before.budget?.spent.seconds ?? 0)).toBeLessThan(1);
  await run.resume();
  await run.stop();
  await reportOf(handle);
}, 300_000);
