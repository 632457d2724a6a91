import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { BackfillHandle } from '../../src/client/backfill-handle';
import type { BackfillOptions } from '../../src/client/backfill-request';
import { Everstep } from '../../src/client/everstep';
import type { MatrixCell } from '../../src/core/backfill';
import { countCells } from '../../src/core/backfill';
import { WORKFLOW_TASK_TIMEOUT } from '../../src/core/task-queues';
import { streamTrajectories } from '../../src/stores/eval-store';
import { TestRuns, until } from './harness/runs';
import { TestStack } from './harness/stack';

const ROOT = resolve(__dirname, '../..');
const OWN = { type: 'benchmark', name: 'sums', benchmark: 'arithmetic', maxExamples: 6, maxTokens: 3 };
const ASKED = { runs: ['sft-?'], benchmarks: ['arithmetic'], maxExamples: 20, maxTokens: 4 } as const;

let stack: TestStack;
let everstep: Everstep;
let runs: TestRuns;
let data: string;

beforeAll(async () => {
  stack = await TestStack.start();
  data = join(stack.folder, 'benchmarks');
  mkdirSync(join(data, 'gsm8k'), { recursive: true });
  const rows = Array.from({ length: 8 }, (_, index) => ({
    question: `Number ${index}?`,
    answer: `#### ${index}`,
  }));
  writeFileSync(join(data, 'gsm8k', 'data.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  everstep = await Everstep.connect({
    address: stack.address,
    namespace: stack.namespace,
    store: join(stack.folder, 'store'),
    dataFolder: stack.folder,
  });
  runs = new TestRuns(stack);
  await stack.startWorkers();
  const config = { saveEvery: 4, evalEvery: 4, evaluators: [OWN] };
  await Promise.all([
    runs.train('sft-1', runs.config(config)),
    runs.train('sft-2', runs.config({ ...config, learningRate: 2e-3, seed: 1 })),
  ]);
});

afterAll(async () => {
  await everstep.close();
  await stack.stop();
});

async function fill(options: BackfillOptions): Promise<readonly MatrixCell[]> {
  return end(await everstep.backfill(options));
}

async function end(handle: BackfillHandle): Promise<readonly MatrixCell[]> {
  const outcome = await handle.result();
  if (outcome && 'value' in outcome) return outcome.value.cells;
  throw new Error(JSON.stringify(outcome));
}

const labels = (cells: readonly MatrixCell[]) => cells.map(({ run, step }) => `${run}@${step}`);
const ofColumn = (cells: readonly MatrixCell[], name: string) =>
  cells.filter(({ benchmark }) => benchmark === name);

/** Requests for tokens that the engine was given. */
async function sampledTokens(): Promise<number> {
  const text = await (await fetch(`${stack.engine.url}/metrics`)).text();
  return Number(/tokens_sampled_total (\d+)/.exec(text)?.[1]);
}

/** How often the benchmark of a cell was started. */
function startsOf({ dir }: MatrixCell): number {
  const plan = JSON.parse(readFileSync(join(dir ?? '', 'journal', 'plan.json'), 'utf8')) as {
    starts: number;
  };
  return plan.starts;
}

async function startWorkerProcess(): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    [
      ...[join(ROOT, 'bin/everstep.js'), 'worker', '--data-dir', stack.folder],
      ...['--store', join(stack.folder, 'store')],
    ],
    {
      env: {
        ...process.env,
        EVERSTEP_NO_BUILD: '1',
        TEMPORAL_ADDRESS: stack.address,
        TEMPORAL_NAMESPACE: stack.namespace,
        TINKER_BASE_URL: stack.engine.url,
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  await new Promise<void>((ready) => {
    child.stdout.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes('Worker ready')) ready();
    });
  });
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = new Promise((done) => child.once('exit', done));
  child.kill('SIGKILL');
  await gone;
}

describe('the story of a matrix', () => {
  test('scores every checkpoint although the worker is killed, and each example once', async () => {
    await stack.stopWorkers();
    let worker = await startWorkerProcess();
    try {
      const handle = await everstep.backfill({ ...ASKED, maxExamples: 300 });
      await until(async () =>
        (await handle.running()).some(({ progress }) => progress?.done) ? true : null,
      );
      await kill(worker);
      worker = await startWorkerProcess();

      const cells = await end(handle);

      expect(labels(cells)).toEqual(
        ['sft-1', 'sft-2'].flatMap((run) => [0, 4, 8, 12].map((step) => `${run}@${step}`)),
      );
      expect(countCells(cells)).toMatchObject({ done: 8 });
      for (const cell of cells) {
        const ids = [...streamTrajectories(cell.dir ?? '')].map(({ example_id }) => example_id);
        expect(new Set(ids).size).toBe(300);
        expect(ids).toHaveLength(300);
        expect(startsOf(cell)).toBe(1);
      }
    } finally {
      await kill(worker);
      await stack.startWorkers();
    }
  });

  test('runs nothing when everything is there', async () => {
    const first = await fill(ASKED);
    const before = await sampledTokens();

    const again = await fill({ ...ASKED, parallel: 4, concurrency: 8 });

    expect(countCells(first)).toMatchObject({ done: 8 });
    expect(countCells(again)).toMatchObject({ present: 8 });
    expect(again.map(({ score, dir }) => [score, dir])).toEqual(first.map(({ score, dir }) => [score, dir]));
    expect(await sampledTokens()).toBe(before);
  });

  test('runs only the new column when a benchmark is added', async () => {
    await fill(ASKED);

    const cells = await fill({ ...ASKED, benchmarks: ['arithmetic', 'gsm8k'], dataFolder: data });

    expect(ofColumn(cells, 'arithmetic').map(({ status }) => status)).toEqual(Array(8).fill('present'));
    expect(ofColumn(cells, 'gsm8k').map(({ status }) => status)).toEqual(Array(8).fill('done'));
  });

  test('runs only the new cells when data change', async () => {
    await fill({ ...ASKED, benchmarks: ['gsm8k'], dataFolder: data });
    const file = join(data, 'gsm8k', 'data.jsonl');
    writeFileSync(file, readFileSync(file, 'utf8').replace('Number 3?', 'Number three?'));

    const cells = await fill({
      ...ASKED,
      runs: ['sft-1'],
      steps: 'last',
      benchmarks: ['gsm8k'],
      dataFolder: data,
    });

    expect(cells.map(({ status, reason }) => [status, reason])).toEqual([['done', null]]);
  });
});

test('what everstep eval scored before is present, whatever its eval run is called', async () => {
  const options = { maxExamples: 9, maxTokens: 2 };
  const byHand = await everstep.evaluate('arithmetic', { ...options, checkpoint: 'sft-1@8', run: 'by-hand' });
  const report = await byHand.result();

  const cells = await fill({ ...options, runs: ['sft-1'], benchmarks: ['arithmetic'] });

  expect(cells.map(({ status }) => status)).toEqual(['done', 'done', 'present', 'done']);
  expect(cells[2]).toMatchObject({
    score: report?.benchmarks[0]?.score,
    dir: join(byHand.folder, 'arithmetic'),
  });
});

test('what backfill scored is found by its search attributes', async () => {
  const [cell] = await fill({ runs: ['sft-1'], steps: 'last', benchmarks: ['arithmetic'], maxExamples: 7 });
  const evalRun = cell?.dir?.split('/').at(-2) ?? '';
  const query = `EverstepKind = "benchmark" AND EverstepRun = "${evalRun}" AND EverstepStatus = "completed"`;

  const found = await until(async () => {
    for await (const { workflowId, typedSearchAttributes } of stack.client.workflow.list({ query })) {
      const values = typedSearchAttributes
        .getAll()
        .map(({ key, value }): [string, unknown] => [key.name, value]);
      return { workflowId, ...Object.fromEntries(values) };
    }
    return null;
  });

  expect(found).toMatchObject({
    workflowId: `bench/${evalRun}/arithmetic`,
    EverstepModel: 'everstep/tiny',
    EverstepScore: cell?.score,
  });
});

test('what backfill scored is there for everstep eval', async () => {
  const options = { maxExamples: 7, maxTokens: 2 };
  await fill({ ...options, runs: ['sft-1'], steps: '8', benchmarks: ['arithmetic'] });

  const stored = await everstep.findEvaluation('arithmetic', { ...options, checkpoint: 'sft-1@8' });

  expect(stored?.storedNames).toEqual(['arithmetic']);
});

test("a training run's own evaluation counts", async () => {
  const before = await sampledTokens();

  const cells = await fill({ runs: ['sft-2'], benchmarks: ['arithmetic'], maxExamples: 6, maxTokens: 3 });

  expect(cells.map(({ status }) => status)).toEqual(['present', 'present', 'present', 'present']);
  expect(cells.at(-1)?.dir).toBe(join(stack.folder, 'store/runs/sft-2/evals/12/sums'));
  expect(await sampledTokens()).toBe(before);
});

test('a column that cannot be read fails alone, and is tried again', async () => {
  const options = {
    ...ASKED,
    runs: ['sft-1'],
    benchmarks: ['arithmetic', 'math500'],
    dataFolder: data,
    name: 'columns',
  };
  mkdirSync(join(data, 'math500'));
  const file = join(data, 'math500', 'data.jsonl');
  writeFileSync(file, '');

  const cells = await fill(options);
  const planned = await (await everstep.prepareBackfill({ ...options, benchmarks: ['arithmetic'] })).lookUp();
  writeFileSync(
    file,
    `${JSON.stringify({ problem: '1+1?', answer: '2', subject: 'x', level: 1, unique_id: 'a' })}\n`,
  );
  const again = await fill(options);

  const failed = ofColumn(cells, 'math500');
  expect(failed.map(({ status }) => status)).toEqual(Array(4).fill('failed'));
  expect(failed[0]?.reason).toMatch(/no examples|no rows|empty/i);
  expect(ofColumn(cells, 'arithmetic').every(({ score }) => score !== null)).toBe(true);
  expect(planned.map(({ status }) => status)).toEqual(Array(4).fill('present'));
  expect(ofColumn(again, 'math500').map(({ status }) => status)).toEqual(Array(4).fill('done'));
});

test('a cell that fails ends no other; weights that are gone are named', async () => {
  const row = (await stack.store.readCheckpoints('sft-2')).find(({ step }) => step === 8);
  const path = row?.sampler_path ?? '';
  const [model, ...name] = path.slice('tinker://'.length).split('/');
  await fetch(`${stack.engine.url}/api/v1/training_runs/${model}/checkpoints/${name.join('/')}`, {
    method: 'DELETE',
  });

  const handle = await everstep.backfill({ runs: ['sft-2'], benchmarks: ['arithmetic'], maxExamples: 5 });
  const cells = await end(handle);
  const planned = await handle.lookUp();

  expect(cells.map(({ status }) => status)).toEqual(['done', 'done', 'failed', 'done']);
  expect(cells[2]?.reason).toContain(path);
  expect(planned.map(({ status }) => status)).toEqual(['present', 'present', 'missing', 'present']);
  expect(planned[2]?.reason).toBe(cells[2]?.reason);
});

test('a history that grows long is continued, and nothing is started twice', async () => {
  const handle = await everstep.prepareBackfill({ ...ASKED, runs: ['sft-1'], maxExamples: 11, maxTokens: 5 });
  await stack.client.workflow.start('backfill', {
    taskQueue: 'everstep',
    workflowId: `backfill/${handle.name}`,
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
    args: [{ request: { ...handle.request, parallel: 1 }, maxHistoryEvents: 12 }],
  });

  const cells = await end(handle);

  const executions = [];
  for await (const { runId } of stack.client.workflow.list({
    query: `WorkflowId = "backfill/${handle.name}"`,
  }))
    executions.push(runId);
  expect(countCells(cells)).toMatchObject({ done: 4 });
  expect(cells.map(startsOf)).toEqual([1, 1, 1, 1]);
  expect(executions.length).toBeGreaterThan(1);
});
