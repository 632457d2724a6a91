import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BackfillCheckpoint } from '../../../../src/core/backfill';
import { benchmarkRequestOf } from '../../../../src/core/backfill';
import type { ColumnRequest } from '../../../../src/evaluation/backfill/find-cells';
import { findCells } from '../../../../src/evaluation/backfill/find-cells';
import { withSource } from '../../../../src/evaluation/inspect/task-source';
import { NO_PLUGINS } from '../../../../src/evaluation/plugins';
import { findPlan, writePlan } from '../../../../src/evaluation/runner/benchmark-plan';
import { planBenchmark } from '../../../../src/evaluation/runner/plan-benchmark';
import { storeCell } from '../../../../src/evaluation/stored-cell';
import type { ResultIdentity } from '../../../../src/stores/eval-store';
import { writeBenchmark } from '../../../../src/stores/eval-store';
import { newFolder } from '../runner/fake-model';

const DEPENDENCIES = {
  readBenchmarkRows: () => async () => ({ rows: [], source: 'nowhere' }),
  loadPlugins: async () => NO_PLUGINS,
  models: { promptFormat: () => 'plain' },
  now: () => new Date(0),
};
const ASKING = { numSamples: 1, concurrency: 4, agentConcurrency: 1, maxExamples: 5 };

const CHECKPOINT: BackfillCheckpoint = {
  run: 'a',
  step: 20,
  lineage: 0,
  model: { type: 'engine', model: 'm', path: 'w/20', label: 'a@20', identity: 'a/20/0', renderer: 'plain' },
  paths: ['w/20'],
  evalRun: 'a-20-aaaa',
};

function column(changes: Partial<ColumnRequest> = {}): ColumnRequest {
  const store = newFolder();
  mkdirSync(join(store, 'runs'));
  return { store, asking: ASKING, benchmark: 'arithmetic', checkpoints: [CHECKPOINT], ...changes };
}

/** Begins a cell in an eval run, and finishes it with this many errors. */
async function evaluate(
  { store, asking }: ColumnRequest,
  evalRun: string,
  {
    errors,
    checkpoint = CHECKPOINT,
  }: { readonly errors: number | null; readonly checkpoint?: BackfillCheckpoint },
) {
  const request = benchmarkRequestOf({ store, asking }, checkpoint, { evalRun, benchmark: 'arithmetic' });
  await planBenchmark(DEPENDENCIES, request);
  const plan = await findPlan(request);
  if (plan && errors !== null) await finish(join(request.folder, 'arithmetic'), plan.identity, errors);
  return { request, plan };
}

async function finish(folder: string, identity: ResultIdentity, errors: number): Promise<void> {
  const counts = { num_examples: 5, num_completed: 5, num_correct: 2, num_errors: errors, num_truncated: 0 };
  const result = { name: 'arithmetic', score: 0.4, stderr: 0.1, ci: null, score_completed: 0.4, ...counts };
  await writeBenchmark(folder, { ...result, metrics: {}, time_seconds: 1, pass_at_k: {}, identity }, []);
}

test('a cell nobody began is missing, and goes where everstep eval would put it', async () => {
  expect(await findCells(DEPENDENCIES, column())).toEqual([{ isPresent: false, evalRun: 'a-20-aaaa' }]);
});

test('a result of the same making is present, whatever its eval run is called', async () => {
  const asked = column();
  await evaluate(asked, 'by-hand', { errors: 0 });

  const [found] = await findCells(DEPENDENCIES, asked);

  expect(found).toMatchObject({ isPresent: true, place: 'evals/by-hand/arithmetic', scores: { score: 0.4 } });
});

test.each([1, null])('a cell with %j errors is missing, and is completed where it lies', async (errors) => {
  const asked = column();
  await evaluate(asked, 'by-hand', { errors });

  expect(await findCells(DEPENDENCIES, asked)).toEqual([{ isPresent: false, evalRun: 'by-hand' }]);
});

test.each<[string, Partial<ColumnRequest>]>([
  ['other sampling', { asking: { ...ASKING, temperature: 0.3 } }],
  ['other data', { asking: { ...ASKING, maxExamples: 6 } }],
  ['another prompt', { asking: { ...ASKING, systemPrompt: 'Be brief.' } }],
  ['more samples', { asking: { ...ASKING, numSamples: 2 } }],
  ['weights of another path', { checkpoints: [{ ...CHECKPOINT, paths: ['w/20-anew'] }] }],
])('%s are another cell', async (_, changes) => {
  const asked = column();
  await evaluate(asked, 'by-hand', { errors: 0 });

  const [found] = await findCells(DEPENDENCIES, { ...asked, ...changes });

  expect(found?.isPresent).toBe(false);
});

test('a folder that was made by an older version of the benchmark is left alone', async () => {
  const asked = column();
  const { request, plan } = await evaluate(asked, 'a-20-aaaa', { errors: null });
  const identity = { ...(plan?.identity ?? fail()), benchmarkVersion: 0 };
  await writePlan(request, { ...(plan ?? fail()), identity });
  await finish(join(request.folder, 'arithmetic'), identity, 0);

  const [found] = await findCells(DEPENDENCIES, asked);

  expect(found).toMatchObject({
    isPresent: false,
    evalRun: expect.stringMatching(/^a-20-[0-9a-f]{8}$/) as string,
  });
});

describe('a task of Inspect AI', () => {
  const NAME = 'inspect_sums';

  function taskColumn(code = 'first', asking = ASKING): ColumnRequest {
    const file = join(newFolder(), 'sums.py');
    writeFileSync(file, code);
    const { source } = withSource({ task: file, args: {} });
    const inspectTask = { task: '/tasks/sums.py@sums', args: { count: 3 }, source: source ?? fail() };
    return column({ benchmark: NAME, inspectTasks: { [NAME]: inspectTask }, asking });
  }

  /** As `everstep eval` leaves it. */
  async function evaluateTask(asked: ColumnRequest, errors: number): Promise<ResultIdentity> {
    const request = benchmarkRequestOf(asked, CHECKPOINT, { evalRun: 'by-hand', benchmark: NAME });
    await planBenchmark(DEPENDENCIES, request);
    const { identity } = (await findPlan(request)) ?? fail();
    await finish(join(request.folder, NAME), identity, errors);
    return identity;
  }

  test.each([0, 2])('with %d failed samples is there, for Inspect has tried them', async (errors) => {
    const asked = taskColumn();
    await evaluateTask(asked, errors);

    const [found] = await findCells(DEPENDENCIES, asked);

    expect(found).toMatchObject({
      ...{ isPresent: true, place: `evals/by-hand/${NAME}` },
      scores: { score: 0.4, numErrors: errors },
    });
  });

  test.each([
    ['other code', taskColumn('second')],
    ['another limit', taskColumn('first', { ...ASKING, maxExamples: 6 })],
    ['more epochs', taskColumn('first', { ...ASKING, numSamples: 2 })],
  ])('with %s is another cell', async (_, { inspectTasks, asking }) => {
    const asked = taskColumn();
    await evaluateTask(asked, 0);

    const [found] = await findCells(DEPENDENCIES, { ...asked, asking, inspectTasks: inspectTasks ?? fail() });

    expect(found?.isPresent).toBe(false);
  });

  test('is found among several of an evaluator of the run', async () => {
    const asked = taskColumn();
    const identity = await evaluateTask(taskColumn(), 0);
    const cell = join(asked.store, 'runs/a/evals/20/measured');
    const model = { name: 'm', path: 'w/20', identity: 'a/20/0' };
    await finish(join(cell, 'others'), { ...identity, dataHash: 'of others' }, 0);
    await finish(join(cell, 'sums'), identity, 0);
    await storeCell(cell, { scores: [], at: '', model });

    const [found] = await findCells(DEPENDENCIES, asked);

    expect(found).toMatchObject({ isPresent: true, place: 'runs/a/evals/20/measured/sums' });
  });
});

test('a worker that sees no runs says so and waits', async () => {
  await expect(findCells(DEPENDENCIES, column({ store: newFolder() }))).rejects.toMatchObject({
    code: 'unreachable',
    retryable: true,
  });
});

function fail(): never {
  throw new Error('There is no plan.');
}
