import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { BenchEndpoint } from '../../bench/endpoint';
import { startBenchEndpoint } from '../../bench/endpoint';
import { Everstep } from '../../src/client/everstep';
import { loadTrajectories } from '../../src/stores/eval-store';
import { TestRuns, until } from './harness/runs';
import { TestStack } from './harness/stack';

const QUEUE = 'everstep-python';

let stack: TestStack;
let everstep: Everstep;
let endpoint: BenchEndpoint;
let connection: NativeConnection;
let folder: string;

beforeAll(async () => {
  stack = await TestStack.start();
  await stack.startWorkers();
  connection = await NativeConnection.connect({ address: stack.address });
  folder = mkdtempSync(join(tmpdir(), 'everstep-python-'));
  everstep = await Everstep.connect({
    address: stack.address,
    namespace: stack.namespace,
    store: join(stack.folder, 'store'),
    dataFolder: stack.folder,
  });
  endpoint = await startBenchEndpoint({ delayMs: 10, answer: 'It is 7' });
});

afterAll(async () => {
  await endpoint.close();
  await everstep.close();
  await stack.stopWorkers();
  await connection.close();
  await stack.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface GradeRequest {
  readonly grader: string;
  readonly items: readonly {
    readonly completion: string;
    readonly example: { readonly target: string; readonly messages: readonly { readonly content: string }[] };
  }[];
}

/** Meets the contract of examples/python-worker, and writes down what it was asked. */
class StandIn {
  readonly asked: string[] = [];
  readonly graded: GradeRequest['items'][number][] = [];
  private worker: Worker | null = null;
  private ended: Promise<void> = Promise.resolve();
  failuresLeft = 0;

  private readonly activities = {
    gradeCompletions: async ({ grader, items }: GradeRequest) => {
      this.asked.push(grader);
      heartbeat();
      if (grader === 'nobody')
        throw ApplicationFailure.nonRetryable(
          'The Python worker has no grader "nobody". It has: x.',
          'unknown-python-name',
        );
      this.graded.push(...items);
      return { scores: items.map((item) => this.scoreOf(grader, item)) };
    },
    runEvaluator: async ({ evaluator, options, path, weights }: Record<string, unknown>) => {
      this.asked.push(`${String(evaluator)} ${JSON.stringify(options)} ${String(weights)}`);
      return { length: String(path).length, whole: 1 };
    },
    listNames: async () => ({ graders: ['right'], evaluators: ['own'] }),
    readDataset: async ({
      dataset,
      options,
      path,
    }: {
      dataset: string;
      options: { count: number };
      path: string;
    }) => {
      this.asked.push(dataset);
      const rows = Array.from({ length: options.count }, (_, index) => ({
        messages: [
          { role: 'user', content: `${index}+1=` },
          { role: 'assistant', content: String(index + 1) },
        ],
      }));
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
      return { path, rowCount: rows.length };
    },
  };

  async start(): Promise<this> {
    this.worker = await Worker.create({
      connection,
      namespace: stack.namespace,
      taskQueue: QUEUE,
      activities: this.activities,
    });
    this.ended = this.worker.run();
    return this;
  }

  async stop(): Promise<void> {
    this.worker?.shutdown();
    await this.ended;
  }

  private scoreOf(grader: string, { completion, example }: GradeRequest['items'][number]) {
    if (example.messages[0]?.content !== 'Number 0?') return { value: 1, answer: completion };
    if (grader === 'raises') return { error: 'ValueError: no such luck' };
    if (grader === 'sometimes' && this.failuresLeft-- > 0) return { error: 'OSError: for the moment' };
    if (grader === 'words') return { value: 'much', answer: null };
    return { value: 0, answer: completion };
  }
}

/** A plug-in file with one benchmark, judged in Python. */
function pluginsWith(grader: string, count: number): string {
  const file = join(folder, `${grader}-${count}.config.js`);
  const source = `module.exports = { benchmarks: { asked: {
    data: { rows: () => Array.from({ length: ${count} }, (_, index) => ({ index })) },
    toExample: ({ index }) => ({ prompt: 'Number ' + index + '?', target: '7' }),
    grader: { python: '${grader}' },
    generation: { maxTokens: 16, temperature: 0 },
  } } };`;
  writeFileSync(file, source);
  return file;
}

function evaluate(run: string, grader: string, count: number) {
  return everstep.evaluate('asked', {
    run,
    endpoint: endpoint.url,
    model: 'canned',
    plugins: pluginsWith(grader, count),
    concurrency: 16,
  });
}

test('waits for a Python worker and says so, and samples nothing twice', async () => {
  const before = endpoint.stats.requestCount;
  const handle = await evaluate('waits', 'right', 40);

  const [reason] = await until(async () => {
    const reasons = await handle.waitingReasons();
    return reasons.length > 0 ? reasons : null;
  });
  const python = await new StandIn().start();
  const report = await handle.result();
  await python.stop();

  expect(reason).toContain('No Python worker polls everstep-python');
  expect(report?.benchmarks[0]).toMatchObject({ numExamples: 40, numErrors: 0, numCorrect: 39 });
  expect(endpoint.stats.requestCount - before).toBe(40);
  expect(python.graded).toHaveLength(40);
  expect(python.asked.length).toBeLessThan(40);
});

test('takes an exception for an error of its example, tries it three times', async () => {
  const before = endpoint.stats.requestCount;
  const python = await new StandIn().start();
  const failing = await (await evaluate('raises', 'raises', 3)).result();
  const judged = python.graded.length;
  python.failuresLeft = 2;
  const passing = await (await evaluate('sometimes', 'sometimes', 3)).result();
  await python.stop();

  const trajectories = await loadTrajectories(failing?.dir ?? '', 'asked');
  expect(failing?.failures).toEqual([]);
  expect(failing?.benchmarks[0]).toMatchObject({ numExamples: 3, numErrors: 1, numCorrect: 2 });
  expect(trajectories.map(({ error }) => error)).toEqual(['grader: ValueError: no such luck', null, null]);
  expect(judged).toBe(5);
  expect(passing?.benchmarks[0]).toMatchObject({ numErrors: 0 });
  expect(endpoint.stats.requestCount - before).toBe(6);
});

test('refuses scores that are no numbers, and a grader that no worker has', async () => {
  const python = await new StandIn().start();
  const words = await (await evaluate('words', 'words', 2)).result();
  const nobody = await (await evaluate('nobody', 'nobody', 2)).result();
  await python.stop();

  const [first] = await loadTrajectories(words?.dir ?? '', 'asked');
  expect(words?.failures).toEqual([]);
  expect(words?.benchmarks[0]).toMatchObject({ numErrors: 1 });
  expect(first?.error).toContain('returned {"value":"much"');
  expect(nobody?.failures[0]).toMatchObject({ code: 'unknown-evaluator' });
  expect(nobody?.failures[0]?.message).toContain('has no grader "nobody"');
});

test('trains on a dataset read in Python, with an evaluator and a grader in Python', async () => {
  const python = await new StandIn().start();
  const runs = new TestRuns(stack);
  const dataset = { python: 'sums', options: { count: 32 } };
  const report = await runs.train(
    'polyglot',
    runs.config({
      dataset,
      steps: 4,
      evalEvery: 4,
      evaluators: [
        { type: 'python', name: 'own', evaluator: 'own', options: { depth: 2 } },
        {
          type: 'custom',
          name: 'graded',
          grader: { python: 'right' },
          dataset,
          maxExamples: 4,
          maxTokens: 4,
        },
      ],
    }),
  );
  await python.stop();

  const scores = await stack.store.readScores('polyglot');
  const keys = [...new Set(scores.map(({ key }) => key))].sort();
  expect(report).toMatchObject({ status: 'completed', step: 4 });
  expect(keys).toEqual(['test/graded/accuracy', 'test/own/length', 'test/own/whole']);
  // Evaluations run beside training and end in any order.
  const steps = scores.filter(({ evaluator }) => evaluator === 'own').map(({ step }) => step);
  expect(steps.sort((left, right) => left - right)).toEqual([0, 0, 4, 4]);
  expect(python.asked.filter((name) => name.startsWith('own {"depth":2} polyglot/'))).toHaveLength(2);
});
