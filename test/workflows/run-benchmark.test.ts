import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { BenchEndpoint } from '../../bench/endpoint';
import { startBenchEndpoint } from '../../bench/endpoint';
import { Everstep } from '../../src/client/everstep';
import { streamTrajectories } from '../../src/stores/eval-store';
import { TestRuns, until } from './harness/runs';
import { TestStack } from './harness/stack';

const ROOT = resolve(__dirname, '../..');

let stack: TestStack;
let everstep: Everstep;
let data: string;
let endpoint: BenchEndpoint;

beforeAll(async () => {
  stack = await TestStack.start();
  data = mkdtempSync(join(tmpdir(), 'everstep-benchmark-data-'));
  everstep = await Everstep.connect({
    address: stack.address,
    namespace: stack.namespace,
    store: join(stack.folder, 'store'),
    dataFolder: stack.folder,
  });
  endpoint = await startBenchEndpoint({ delayMs: 50, answer: 'It is 7.\n#### 7' });
});

afterAll(async () => {
  await endpoint.close();
  await everstep.close();
  await stack.stop();
  rmSync(data, { recursive: true, force: true });
});

/** Questions in the shape of GSM8K; every seventh has the answer 7. */
function dataOf(count: number): string {
  const folder = join(data, String(count));
  mkdirSync(join(folder, 'gsm8k'), { recursive: true });
  const rows = Array.from({ length: count }, (_, index) => ({
    question: `Number ${index}?`,
    answer: `#### ${index % 7 === 0 ? 7 : 8}`,
  }));
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
  writeFileSync(join(folder, 'gsm8k', 'data.jsonl'), lines.join(''));
  return folder;
}

/** A benchmark of eight questions in a plug-in file; every second has the answer 7. */
class SevensPlugin {
  readonly file: string;

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    this.file = join(folder, 'everstep.config.ts');
    this.write();
  }

  write(changes: { grader?: string; prompt?: string; version?: number; head?: string } = {}): void {
    const { grader = '(reply, { target }) => reply.endsWith(target)', prompt = '`Number ${n}?`' } = changes;
    const { version = 1, head = '' } = changes;
    const rows = 'Array.from({ length: 8 }, (_, n) => ({ n }))';
    const text = `${head}
      export const benchmarks = { sevens: {
        version: ${version},
        data: { rows: () => ${rows} },
        toExample: ({ n }) => ({ id: 'n_' + n, prompt: ${prompt}, target: n % 2 === 0 ? '7' : '8' }),
        generation: { maxTokens: 8, temperature: 0 },
        grader: ${grader},
      } };`;
    writeFileSync(this.file, text);
  }
}

/** A worker process of its own, as `everstep worker` is one. */
async function startWorkerProcess(): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    [
      join(ROOT, 'bin/everstep.js'),
      'worker',
      '--data-dir',
      stack.folder,
      '--store',
      join(stack.folder, 'store'),
    ],
    {
      env: {
        ...process.env,
        EVERSTEP_NO_BUILD: '1',
        TEMPORAL_ADDRESS: stack.address,
        TEMPORAL_NAMESPACE: stack.namespace,
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

test('scores each example once although its worker is killed twice', async () => {
  const [exampleCount, concurrency, kills] = [1200, 16, 2];
  const answered = endpoint.stats.answeredCount;
  const asked = endpoint.stats.requestCount;
  let worker = await startWorkerProcess();
  try {
    const handle = await everstep.evaluate('gsm8k', {
      run: 'killed',
      endpoint: endpoint.url,
      model: 'canned',
      dataFolder: dataOf(exampleCount),
      concurrency,
    });
    for (const limit of [300, 700]) {
      await until(() => (endpoint.stats.answeredCount - answered >= limit ? true : null));
      await kill(worker);
      worker = await startWorkerProcess();
    }

    const report = await handle.result();

    const [summary] = report?.benchmarks ?? [];
    const right = Math.ceil(exampleCount / 7) / exampleCount;
    const ids = [...streamTrajectories(join(handle.folder, 'gsm8k'))].map(({ example_id }) => example_id);
    // In flight at a kill, and answered in the second before it.
    const lost = kills * (concurrency + (1000 / 50) * concurrency);
    expect(report?.failures).toEqual([]);
    expect(summary).toMatchObject({ numExamples: exampleCount, numErrors: 0 });
    expect(summary?.score).toBeCloseTo(right, 12);
    expect(new Set(ids).size).toBe(exampleCount);
    expect(ids).toHaveLength(exampleCount);
    expect(endpoint.stats.requestCount - asked).toBeLessThanOrEqual(exampleCount + lost);
  } finally {
    await kill(worker);
  }
});

describe('with workers', () => {
  beforeAll(() => stack.startWorkers());
  afterAll(() => stack.stopWorkers());

  test('pauses where its budget is used up, and goes on with a higher one without asking twice', async () => {
    const own = await startBenchEndpoint({ delayMs: 1, answer: '#### 7' });
    const options = {
      ...{ run: 'thrifty', endpoint: own.url, model: 'canned', dataFolder: dataOf(2100), concurrency: 32 },
    };
    const ends = [];
    for (const requests of [30, 2050, 2100]) {
      const handle = await everstep.evaluate('gsm8k', { ...options, budget: { requests } });
      ends.push({ report: await handle.result(), asked: own.stats.requestCount });
    }
    await own.close();

    expect(ends).toMatchObject([
      {
        report: {
          failures: [
            { code: 'over-budget', message: expect.stringContaining('30 of 30 requests used') as string },
          ],
        },
        asked: 30,
      },
      { report: { failures: [{ code: 'over-budget' }] }, asked: 2050 },
      { report: { failures: [], benchmarks: [{ numExamples: 2100, numErrors: 0 }] }, asked: 2100 },
    ]);
  });

  test('waits for an endpoint that is away, and says so', async () => {
    const own = await startBenchEndpoint({ delayMs: 20, answer: '#### 7' });
    const port = Number(new URL(own.url).port);
    const handle = await everstep.evaluate('gsm8k', {
      run: 'away',
      endpoint: own.url,
      model: 'canned',
      dataFolder: dataOf(400),
      concurrency: 4,
    });
    await until(() => (own.stats.answeredCount >= 60 ? true : null));
    const before = own.stats.answeredCount;
    await own.close();
    await new Promise((soon) => setTimeout(soon, 1500));
    const back = await startBenchEndpoint({ port, delayMs: 5, answer: '#### 7' });

    const report = await handle.result();
    await back.close();

    expect(report?.benchmarks[0]).toMatchObject({ numExamples: 400, numErrors: 0, numCorrect: 58 });
    expect(before + back.stats.requestCount).toBeLessThanOrEqual(400 + 4 + 50 * 4);
  });

  test('attaches to a benchmark under way, and refuses one that is another', async () => {
    const slow = await startBenchEndpoint({ delayMs: 400, answer: '#### 7' });
    const options = {
      run: 'twice',
      endpoint: slow.url,
      model: 'canned',
      dataFolder: dataOf(32),
      concurrency: 4,
    };
    const first = await everstep.evaluate('gsm8k', options);
    const second = await everstep.evaluate('gsm8k', options);
    const other = everstep.evaluate('gsm8k', { ...options, temperature: 0.1 });

    await expect(other).rejects.toThrow('is under way with --temperature unset, and 0.1 is asked for');
    expect((await second.result())?.benchmarks).toEqual((await first.result())?.benchmarks);
    await slow.close();

    const after = await everstep.evaluate('gsm8k', { ...options, temperature: 0.1 });
    const [failure] = (await after.result())?.failures ?? [];

    expect(slow.stats.requestCount).toBe(32);
    expect(failure).toMatchObject({ code: 'refused' });
    expect(failure?.message).toContain('begun with --temperature 0.6, and 0.1 is asked for');
  });

  test('is not attached to once its data has changed', async () => {
    const slow = await startBenchEndpoint({ delayMs: 400, answer: '#### 7' });
    const dataFolder = dataOf(31);
    const options = { run: 'moved', endpoint: slow.url, model: 'canned', dataFolder, concurrency: 4 };
    const first = await everstep.evaluate('gsm8k', options);
    await until(() => (slow.stats.requestCount > 0 ? true : null));
    const file = join(dataFolder, 'gsm8k', 'data.jsonl');
    const written = readFileSync(file, 'utf8');
    writeFileSync(file, written.replaceAll('Number', 'Figure'));

    const other = everstep.evaluate('gsm8k', options);

    await expect(other).rejects.toThrow(
      /is under way with the dataset hash \w+ .*, and \w+ is asked for\. Use another --run NAME, or wait/,
    );
    writeFileSync(file, written);
    const again = await everstep.evaluate('gsm8k', options);
    expect((await again.result())?.benchmarks).toEqual((await first.result())?.benchmarks);
    expect(slow.stats.requestCount).toBe(31);
    await slow.close();
  });

  test('lists what is under way, cancels it, and goes on with it when it is asked again', async () => {
    const slow = await startBenchEndpoint({ delayMs: 300, answer: '#### 7' });
    const options = {
      run: 'cancelled',
      endpoint: slow.url,
      model: 'canned',
      dataFolder: dataOf(60),
      concurrency: 4,
    };
    const stateOf = async () => (await everstep.evaluations.list()).find(({ run }) => run === 'cancelled');
    const first = await everstep.evaluate('gsm8k', options);
    await until(async () => ((await stateOf())?.done ? true : null));
    const running = await stateOf();

    const cancelled = await everstep.evaluations.cancel('cancelled');
    const [failure] = (await first.result())?.failures ?? [];
    const stopped = await until(async () => {
      const state = await stateOf();
      return state?.status === 'unfinished' ? state : null;
    });
    const again = everstep.evaluations.cancel('cancelled');

    expect(running).toMatchObject({ status: 'running', total: 60, cells: [{ benchmark: 'gsm8k' }] });
    expect(cancelled).toEqual({ run: 'cancelled', benchmarks: ['gsm8k'], hasEnded: true });
    expect(failure?.message).toMatch(/cancel/i);
    expect(stopped.done).toBeLessThan(60);
    await expect(again).rejects.toThrow('has nothing under way');

    const report = await (await everstep.evaluate('gsm8k', options)).result();
    await slow.close();
    expect(report?.benchmarks[0]).toMatchObject({ numExamples: 60, numErrors: 0, numCorrect: 9 });
    expect(slow.stats.requestCount).toBeLessThanOrEqual(60 + 2 * 4);
    await until(async () => ((await stateOf())?.status === 'finished' ? true : null));
    const { client } = stack;
    const found = await until(async () => {
      const query =
        'EverstepKind = "benchmark" AND EverstepRun = "cancelled" AND EverstepStatus = "completed"';
      for await (const { typedSearchAttributes } of client.workflow.list({ query })) {
        return typedSearchAttributes.getAll().map(({ key, value }): [string, unknown] => [key.name, value]);
      }
      return null;
    });
    expect(Object.fromEntries(found)).toMatchObject({ EverstepModel: 'canned', EverstepScore: 9 / 60 });
  });

  describe('a benchmark of a plug-in', () => {
    let sevens: SevensPlugin;
    let run: string;
    let folder: string;
    let asked: number;

    async function evaluate(changes: object = {}) {
      const options = { endpoint: endpoint.url, model: 'canned', plugins: sevens.file, ...changes };
      const handle = await everstep.evaluate('sevens', options);
      const report = await handle.result();
      const { benchmarks = [], failures = [] } = report ?? {};
      return { handle, summary: benchmarks[0], failure: failures[0] };
    }

    beforeAll(async () => {
      sevens = new SevensPlugin(join(data, 'sevens'));
      asked = endpoint.stats.requestCount;
      const { handle, summary } = await evaluate();
      ({ run, folder } = handle);
      expect(summary).toMatchObject({ score: 0.5, numExamples: 8 });
      expect((await evaluate()).handle.storedNames).toEqual(['sevens']);
    });

    test.each([
      ['grader', { grader: '() => 0' }, 'everstep results regrade'],
      ['version', { version: 2 }, 'everstep results regrade'],
      ['comment', { head: '// of nothing' }, 'everstep results regrade'],
      ['prompt', { prompt: '`Number ${n}!`' }, '--run NAME --answers-from'],
    ])('whose %s changed is refused, and its score is not told as stored', async (_, change, remedy) => {
      sevens.write(change);

      const { handle, failure } = await evaluate();

      expect([handle.run, handle.storedNames, failure?.code]).toEqual([run, [], 'refused']);
      expect(failure?.message).toContain(`${remedy} ${run}`);
    });

    test('is graded again without a request, also by two at once, and the old verdicts stay', async () => {
      sevens.write({ grader: '() => 0' });

      const gradings = await Promise.all([everstep.regrade({ folder }), everstep.regrade({ folder })]);
      const [one, two] = await Promise.all(gradings.map((grading) => grading.result()));

      const kept = join(folder, 'sevens', 'gradings', '1', 'sevens');
      const current = await evaluate();
      expect(one?.benchmarks).toMatchObject([
        { score: 0, numErrors: 0, regraded: [{ before: { score: 0.5 } }] },
      ]);
      expect(two?.benchmarks).toEqual(one?.benchmarks);
      expect([...streamTrajectories(kept)].map(({ reward }) => reward)).toEqual([1, 0, 1, 0, 1, 0, 1, 0]);
      expect(current.handle.storedNames).toEqual(['sevens']);
      expect(current.summary?.score).toBe(0);
      expect(endpoint.stats.requestCount - asked).toBe(8);
    });

    test('is asked nothing by another run that takes its answers', async () => {
      sevens.write({ grader: '() => 1' });

      const { handle, summary } = await evaluate({ run: 'beside', answersFrom: run });

      expect(summary).toMatchObject({ score: 1, numErrors: 0, answers: { taken: 8 } });
      expect(await handle.settings()).toMatchObject([{ taken: { taken: 8 }, sampleCount: 8 }]);
      expect(endpoint.stats.requestCount - asked).toBe(8);
    });
  });

  test("evaluates a checkpoint of a run, and the run's own evaluators on it", async () => {
    const runs = new TestRuns(stack);
    const sums = { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 8 };
    await runs.train('trained', runs.config({ steps: 4, evalEvery: 4, evaluators: [sums] }));
    const inRun = (await stack.store.readScores('trained')).find(({ step }) => step === 4);

    const handle = await everstep.evaluate('arithmetic', { checkpoint: 'trained@4', maxExamples: 8 });
    const alone = await everstep.evaluateWith('arithmetic', { checkpoint: 'trained' });

    const report = await handle.result();
    const cell = await alone.result();
    expect(handle.run).toMatch(/^trained-4-[0-9a-f]{8}$/);
    expect(report?.benchmarks[0]).toMatchObject({ name: 'arithmetic', score: inRun?.value, numExamples: 8 });
    expect(cell).toMatchObject({
      value: { evaluator: 'arithmetic', scores: [{ value: inRun?.value, n: 8 }] },
    });
  });

  test('evaluates a base model of an engine', async () => {
    const handle = await everstep.evaluate('arithmetic', {
      engine: stack.engine.url,
      model: 'everstep/tiny',
      maxExamples: 6,
      numSamples: 2,
      temperature: 1,
    });

    const report = await handle.result();

    expect(report?.failures).toEqual([]);
    expect(report?.benchmarks[0]).toMatchObject({ numExamples: 12, numErrors: 0 });
    expect(Object.keys(report?.benchmarks[0]?.passAtK ?? {})).toEqual(['1', '2']);
  });
});
