import { scoresQuery } from '../../src/workflows/contracts';
import type { Connected } from './harness/connected';
import { connect, disconnect } from './harness/connected';
import { reportOf, until, untilStatus } from './harness/runs';

/** Evaluators that end beside one that does not. */

let at: Connected;
let { stack, runs, plugins, everstep } = {} as Connected;

beforeAll(async () => {
  at = await connect();
  ({ stack, runs, plugins, everstep } = at);
});

afterAll(() => disconnect(at));

const gated = (name: string, gate = name) => ({
  type: 'plugin',
  name,
  evaluator: 'gated',
  options: { gate },
});
const broken = { type: 'plugin', name: 'broken', evaluator: 'broken', options: {} };

function config(evaluators: readonly object[]) {
  const { dataset } = runs.config();
  return runs.config({
    dataset: { ...dataset, testPath: runs.testPath },
    ...{ plugins: plugins.file, steps: 2, batchSize: 4, saveEvery: 0, evaluators, evalEvery: 2 },
  });
}

/** Its cells in words, once each; no metric of one has two rows. */
async function writtenOf(run: string): Promise<string[]> {
  const rows = await stack.store.readScores(run);
  const keys = rows.map(({ step, schedule, key }) => `${step}/${schedule}/${key}`);
  expect(new Set(keys).size).toBe(keys.length);
  const cells = rows.map(
    ({ step, schedule, evaluator, error = '' }) => `${step}/${schedule}/${evaluator} ${error}`,
  );
  return [...new Set(cells)].map((cell) => cell.trim()).sort();
}

/** Waits until so many cells of a run that goes on have scores. */
async function untilWritten(run: string, count: number): Promise<string[]> {
  const handle = stack.client.workflow.getHandle(`train/${run}`);
  return until(async () => {
    if ((await handle.describe()).status.name !== 'RUNNING') await reportOf(handle);
    const written = await writtenOf(run);
    return written.length >= count ? written : null;
  });
}

const FAILED = expect.stringMatching(/no ruler at hand/) as unknown as string;

test('what is final beside an evaluator that hangs is written, and once when the run is cancelled and gone on with', async () => {
  const run = 'hanging';
  plugins.open('quick');
  const evaluators = [gated('quick'), gated('never'), broken];
  const handle = await runs.start(run, config(evaluators));

  const early = await untilWritten(run, 3);

  expect(early).toEqual(
    ['0/evaluators/broken', '0/evaluators/quick', '0/evaluators/test'].map(
      (name) => expect.stringContaining(name) as unknown as string,
    ),
  );
  const live = await handle.query(scoresQuery);
  expect([...new Set(live.map(({ step, evaluator }) => `${step}/${evaluator}`))].sort()).toEqual([
    '0/broken',
    '0/quick',
    '0/test',
  ]);
  expect(plugins.calls('quick')).toBe(1);

  await untilStatus(handle, ({ step }) => step === 2);
  await everstep.run(run).cancel();
  await until(async () => ((await handle.describe()).status.name === 'RUNNING' ? null : true));
  await everstep.continue(run);
  plugins.open('never');
  await reportOf(stack.client.workflow.getHandle(`train/${run}`));

  const written = await writtenOf(run);
  expect(written.filter((row) => !row.includes('broken'))).toEqual(
    [0, 2].flatMap((step) => ['never', 'quick', 'test'].map((name) => `${step}/evaluators/${name}`)),
  );
  expect(written.filter((row) => row.includes('broken'))).toEqual([FAILED, FAILED]);
  expect(plugins.calls('quick')).toBe(2);
});

test('a gate decides once all of its schedule is final, with the scores that were written before', async () => {
  const run = 'gated';
  plugins.open('measured');
  plugins.close('last');
  const gate = {
    metric: 'test/measured/characters',
    higherIsBetter: true,
    on: 'value',
    rule: { atLeast: 0 },
  };
  const evaluators = [gated('measured'), gated('last')];
  const schedules = [{ name: 'quality', every: { steps: 2 }, atStart: false, evaluators, gate }];
  const short = { plugins: plugins.file, steps: 2, batchSize: 4, saveEvery: 0 };
  const handle = await runs.start(run, runs.config({ ...short, schedules }));

  const early = await untilWritten(run, 1);
  const controls = await stack.store.readControls(run);
  plugins.open('last');
  await reportOf(handle);

  expect(early).toEqual(['2/quality/measured']);
  expect(controls).toEqual([]);
  expect(await writtenOf(run)).toEqual(['2/quality/last', '2/quality/measured']);
  expect((await stack.store.readControls(run)).map(({ by, control, to }) => [by, control, to])).toEqual([
    ['gate', 'promote', 2],
  ]);
  const live = await handle.query(scoresQuery);
  expect(live.map(({ evaluator }) => evaluator)).toEqual(['measured', 'last']);
});
