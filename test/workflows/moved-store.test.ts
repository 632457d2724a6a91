import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createRunStore } from '../../src/stores/run-store';
import { HeldRuns } from './harness/held-runs';
import { reportOf } from './harness/runs';

let held: HeldRuns;

beforeAll(async () => {
  held = await HeldRuns.start();
});

afterEach(() => {
  held.training.letAllGo();
});

afterAll(() => held.close());

const ways: [string, (from: string, to: string) => void][] = [
  ['moved', renameSync],
  [
    'copied',
    (from, to) => {
      cpSync(from, to, { recursive: true });
      // What the original becomes is nothing to the copy.
      rmSync(join(from, 'runs', 'copied', 'data'), { recursive: true });
    },
  ],
];

test.each(ways)(
  'a run whose store is %s meanwhile measures the test split that it froze',
  async (run, put) => {
    const { stack, runs } = held;
    const { dataset } = runs.config();
    const config = runs.config({ dataset: { ...dataset, testSize: 8 }, evalEvery: 4 });
    const [from, to] = [join(stack.folder, 'store'), join(stack.folder, 'elsewhere')];
    const { handle, hold } = await held.start(run, config, { done: 6 });

    await stack.stopWorkers();
    put(from, to);
    await stack.startWorkers({}, { store: to });
    hold.letGo();
    await reportOf(handle);

    const scores = (await createRunStore(to).readScores(run)).filter(({ key }) => !key.endsWith('/bpb'));
    expect(scores.map(({ step, evaluator, error }) => ({ step, evaluator, error }))).toEqual(
      [0, 4, 8, 12].map((step) => ({ step, evaluator: 'test', error: undefined })),
    );
    await stack.stopWorkers();
    for (const folder of [from, to]) if (existsSync(folder)) rmSync(folder, { recursive: true });
    await stack.startWorkers();
  },
);
