import type { WorkflowHandle } from '@temporalio/client';
import { Everstep } from '../../src/client/everstep';
import type { RunHandle } from '../../src/client/run-handle';
import { TestPlugins } from './harness/plugins';
import { reportOf, TestRuns, until, untilCell, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

/** Every change at every moment that might be a bad one; in the end all runs have come to the same. */
let stack: TestStack;
let runs: TestRuns;
let plugins: TestPlugins;
let everstep: Everstep;
let undisturbed: object;

/** Steps a run has not reached when it is told, however busy the machine is. */
const RATE = 600;
const RHYTHM = 620;
const PAUSE = 650;
const LAST = 700;
const EVENTS = 60;

beforeAll(async () => {
  stack = await TestStack.start();
  await stack.startWorkers();
  runs = new TestRuns(stack);
  plugins = new TestPlugins(stack.folder);
  const { address, namespace } = stack;
  everstep = await Everstep.connect({ address, namespace, store: `${stack.folder}/store` });
  undisturbed = await outcomeOfTwin();
}, 180_000);

afterAll(async () => {
  await everstep.close();
  await stack.stop();
});

function config(moment: string) {
  plugins.open(moment);
  return runs.config({
    steps: 4000,
    batchSize: 64,
    saveEvery: 25,
    plugins: plugins.file,
    evalEvery: 300,
    evaluators: [
      { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 4 },
      { type: 'plugin', name: 'gated', evaluator: 'gated', options: { gate: moment } },
    ],
  });
}

/** Told the same at other moments, and never paused. */
async function outcomeOfTwin(): Promise<object> {
  const handle = await runs.start('twin', config('twin'));
  const run = everstep.run('twin');
  await untilStatus(handle, ({ step }) => step >= 30);
  await run.stop({ atStep: LAST });
  await run.setEvalSchedule('evaluators', { every: { steps: 40 }, atStep: RHYTHM });
  await run.setLearningRate({ multiplier: 0.5, atStep: RATE });
  await run.runEvaluation({ checkpoint: 25, evaluators: ['arithmetic'] });
  await reportOf(handle);
  return runs.outcome('twin');
}

interface Moment {
  readonly name: string;
  readonly events?: number;
  /** Brings the run there; what it returns is done once everything has been asked for. */
  readonly reach: (handle: WorkflowHandle, run: RunHandle) => Promise<() => Promise<void>>;
  readonly isPaused?: boolean;
}

const nothing = () => Promise.resolve();

const MOMENTS: readonly Moment[] = [
  {
    name: 'training',
    reach: async (handle) => {
      await untilStatus(handle, ({ step }) => step >= 30);
      return nothing;
    },
  },
  {
    name: 'evaluation',
    reach: async (handle) => {
      plugins.close('evaluation');
      await untilCell(handle, ({ evaluator, status }) => evaluator === 'gated' && status === 'running');
      await untilStatus(handle, ({ step }) => step >= 30);
      return () => {
        plugins.open('evaluation');
        return Promise.resolve();
      };
    },
  },
  {
    name: 'pause',
    isPaused: true,
    reach: async (handle, run) => {
      await untilStatus(handle, ({ step }) => step >= 30);
      await run.pause();
      await untilStatus(handle, ({ status }) => status === 'paused');
      return async () => {
        await run.resume();
      };
    },
  },
  {
    name: 'continues',
    events: EVENTS,
    reach: async (handle) => {
      await untilStatus(handle, ({ step }) => step >= 30);
      const first = (await handle.describe()).runId;
      await until(async () => ((await handle.describe()).historyLength >= EVENTS - 15 ? true : null));
      return async () => {
        await until(async () => ((await handle.describe()).runId === first ? null : true));
      };
    },
  },
  {
    name: 'worker',
    reach: async (handle) => {
      await untilStatus(handle, ({ step }) => step >= 30);
      await stack.stopWorkers();
      setTimeout(() => void stack.startWorkers(), 500);
      return nothing;
    },
  },
];

test.each(MOMENTS)(
  'every change is made and kept: $name',
  async (moment) => {
    const { name, events, reach, isPaused = false } = moment;
    const handle = await runs.start(
      name,
      config(name),
      events === undefined ? {} : { maxHistoryEvents: events },
    );
    const run = everstep.run(name);
    const then = await reach(handle, run);

    await Promise.all([
      run.setLearningRate({ multiplier: 0.5, atStep: RATE }),
      run.setEvalSchedule('evaluators', { every: { steps: 40 }, atStep: RHYTHM }),
      run.setBudget({ tokens: 1e12 }),
      run.runEvaluation({ checkpoint: 25, evaluators: ['arithmetic'] }),
      run.promote(25),
    ]);
    await run.pause(isPaused ? { seconds: 3600 } : { atStep: PAUSE });
    await run.stop({ atStep: LAST });
    await then();
    if (!isPaused) {
      const live = await untilStatus(handle, ({ status }) => status === 'paused');
      expect(live).toMatchObject({ step: PAUSE, stopAt: LAST, budget: { limits: { tokens: 1e12 } } });
      await run.resume();
    }
    const report = await reportOf(handle);

    expect(report).toMatchObject({ status: 'stopped', step: LAST });
    expect(await runs.outcome(name)).toEqual(undisturbed);
    expect(await run.best()).toMatchObject({ step: 25 });
    const rows = (await stack.store.readControls(name)).map(({ control, step }) => `${control} ${step}`);
    expect(rows).toEqual(
      expect.arrayContaining([
        `setLearningRate ${RATE}`,
        `setEvalSchedule ${RHYTHM}`,
        'runEvaluation 25',
        'promote 25',
        `stop ${LAST}`,
        ...(isPaused ? [] : [`pause ${PAUSE}`, `resume ${PAUSE + 1}`]),
      ]),
    );
    expect(rows).toHaveLength(isPaused ? 9 : 8);
  },
  120_000,
);
