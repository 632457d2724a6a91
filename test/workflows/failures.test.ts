import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  CancelledFailure,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
} from '@temporalio/client';
import { isClosed } from '../../src/client/run-report';
import { TestPlugins } from './harness/plugins';
import { failureOf, reportOf, TestRuns, until, untilCell, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';

let stack: TestStack;
let runs: TestRuns;
let plugins: TestPlugins;

beforeAll(async () => {
  stack = await TestStack.start();
  await stack.startWorkers();
  runs = new TestRuns(stack);
  plugins = new TestPlugins(stack.folder);
}, 120_000);

afterAll(() => stack.stop());

/** A config whose evaluators are the test's own. */
function withEvaluators(evaluators: readonly object[], more: object = {}) {
  return runs.config({ plugins: plugins.file, evaluators, ...more });
}

function gated(gate: string): object {
  return { type: 'plugin', name: gate, evaluator: 'gated', options: { gate } };
}

async function openWorkflows(prefix: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { workflowId } of stack.client.workflow.list({ query: 'ExecutionStatus = "Running"' })) {
    if (workflowId.startsWith(prefix)) ids.push(workflowId);
  }
  return ids;
}

test('counts every step once although its worker stops and another goes on', async () => {
  const { dataset } = runs.config();
  const given = runs.config({
    dataset: { ...dataset, testPath: runs.testPath },
    steps: 60,
    batchSize: 64,
    evalEvery: 10,
  });
  await runs.train('undisturbed', given);
  const stepsBefore = await stack.stepsApplied();
  const handle = await runs.start('handed-over', given);

  await until(async () => ((await stack.store.readMetrics('handed-over')).length >= 15 ? true : null));
  await stack.stopWorkers();
  await stack.startWorkers();

  await reportOf(handle);
  expect(await runs.outcome('handed-over')).toEqual(await runs.outcome('undisturbed'));
  expect(await stack.store.readState('handed-over')).toMatchObject({ rewinds: 0, stepsReplayed: 0 });
  expect(await stack.stepsApplied()).toBe(stepsBefore + 60);
});

test('cancelling ends its evaluations, releases the model and keeps what was reached', async () => {
  const handle = await runs.start(
    'unwanted',
    withEvaluators([gated('never')], { steps: 500, evalEvery: 50 }),
  );
  await untilCell(handle, ({ step }) => step >= 50);
  await until(async () => ((await openWorkflows('eval/unwanted/')).length > 0 ? true : null));
  const modelId = await until(() => stack.modelOf('unwanted'));

  await handle.cancel();

  const ended: unknown = await handle.result().catch((error: unknown) => error);
  expect(ended).toBeInstanceOf(WorkflowFailedError);
  expect((ended as WorkflowFailedError).cause).toBeInstanceOf(CancelledFailure);
  const state = await stack.store.readState('unwanted');
  const metrics = await stack.store.readMetrics('unwanted');
  expect(state).toMatchObject({ status: 'cancelled', reason: 'cancelled on request' });
  expect(state?.step).toBeLessThan(500);
  expect(metrics.length).toBeGreaterThanOrEqual(state?.step ?? Infinity);
  expect(await stack.isModelLoaded(modelId)).toBe(false);
  await until(async () => ((await openWorkflows('eval/unwanted/')).length === 0 ? true : null));
}, 90_000);

test('a blocking schedule holds the engine still until its scores are there', async () => {
  const counter = { type: 'plugin', name: 'steps', evaluator: 'counter', options: { url: stack.engine.url } };
  const schedules = [{ name: 'hold', every: { steps: 4 }, mode: 'blocking', evaluators: [counter] }];

  await runs.train('held', runs.config({ plugins: plugins.file, schedules }));

  const scores = await runs.scores('held');
  const values = (metric: string) =>
    scores.filter((row) => row.metric === metric).map(({ value }) => value ?? NaN);
  const [base = NaN] = values('before');
  expect(values('before').map((value) => value - base)).toEqual([0, 4, 8, 12]);
  expect(values('after')).toEqual(values('before'));
});

test('a failing evaluator is a row that says so, beside the scores of the others', async () => {
  const broken = { type: 'plugin', name: 'ruler', evaluator: 'broken' };
  const sums = { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 4 };

  const report = await runs.train('measured', withEvaluators([broken, sums], { evalEvery: 6 }));

  const scores = await runs.scores('measured');
  expect(report).toMatchObject({ status: 'completed', step: 12 });
  expect(scores.filter(({ evaluator }) => evaluator === 'ruler')).toEqual(
    [0, 6, 12].map((step): unknown =>
      expect.objectContaining({
        step,
        metric: 'error',
        value: null,
        n: 0,
        error: expect.stringContaining('no ruler at hand') as string,
      }),
    ),
  );
  expect(scores.filter(({ metric }) => metric === 'accuracy').map(({ step, n }) => ({ step, n }))).toEqual(
    [0, 6, 12].map((step) => ({ step, n: 4 })),
  );
});

test('goes on in new executions while evaluations are under way, and hears of each once', async () => {
  const given = withEvaluators([gated('later')], { steps: 60, batchSize: 64, evalEvery: 10 });
  const handle = await runs.start('long', given, { maxHistoryEvents: 20 });
  const first = (await handle.describe()).runId;
  await untilStatus(handle, ({ step }) => step === 60);
  const pending = await untilStatus(handle, ({ pendingEvaluations }) => pendingEvaluations === 7);
  const later = await handle.describe();
  expect(later.runId).not.toBe(first);
  expect(later.raw.executionConfig?.defaultWorkflowTaskTimeout?.seconds?.toNumber()).toBe(5);

  plugins.open('later');

  const report = await reportOf(handle);
  const other = await runs.train('short', given);
  const scores = await runs.scores('long');
  expect(pending).toMatchObject({ rewinds: 0 });
  expect(report.finalWeightsDigest).toBe(other.finalWeightsDigest);
  expect(await stack.store.readMetrics('long')).toEqual(await stack.store.readMetrics('short'));
  expect(scores.map(({ step }) => step)).toEqual([0, 10, 20, 30, 40, 50, 60]);
  expect(scores).toEqual(await runs.scores('short'));
  expect(plugins.calls('later')).toBe(14);
}, 90_000);

test('refuses a second start of a run, and leaves a finished one as it is', async () => {
  const handle = await runs.start('only', runs.config());
  const again = runs.start('only', runs.config({ seed: 9 }));
  await expect(again).rejects.toBeInstanceOf(WorkflowExecutionAlreadyStartedError);
  await reportOf(handle);
  const before = await runs.outcome('only');

  const third = await runs.start('only', runs.config({ seed: 9 }));

  expect(await failureOf(third)).toMatchObject({ code: 'store-conflict' });
  expect(await runs.outcome('only')).toEqual(before);
});

describe('a run that cannot be prepared fails with the reason and leaves no folder', () => {
  const long = {
    messages: [
      { role: 'user', content: '1'.repeat(4000) },
      { role: 'assistant', content: '2' },
    ],
  };
  const data = (name: string, text: string) => {
    const path = join(stack.folder, `${name}.jsonl`);
    writeFileSync(path, text);
    return { dataset: { path } };
  };

  test.each([
    ['malformed', 'bad-dataset', /line 1/, () => data('malformed', '{"messages": [\n')],
    ['empty', 'bad-dataset', /empty\.jsonl/, () => data('empty', '')],
    [
      'missing',
      'bad-dataset',
      /nowhere\.jsonl/,
      () => ({ dataset: { path: join(stack.folder, 'nowhere.jsonl') } }),
    ],
    ['too-long', 'bad-dataset', /maxLength: \d+/, () => data('too-long', JSON.stringify(long))],
    [
      'stranger',
      'unknown-model',
      /everstep\/tiny/,
      () => ({ model: 'acme/unheard-of', renderer: 'role_colon' }),
    ],
    [
      'unmeasured',
      'unknown-benchmark',
      /"nope"/,
      () => ({ evaluators: [{ type: 'benchmark', benchmark: 'nope' }] }),
    ],
    [
      'unplugged',
      'unknown-evaluator',
      /"ghost"/,
      () => withEvaluators([{ type: 'plugin', name: 'g', evaluator: 'ghost' }]),
    ],
    ['oblique', 'unknown-renderer', /"nope"/, () => ({ renderer: 'nope' })],
  ])('%s: %s', async (run, code, message, more) => {
    const handle = await runs.start(run, runs.config(more()));

    const failure = await failureOf(handle);

    expect(failure).toEqual({ code, message: expect.stringMatching(message) as string });
    expect(failure.message).not.toContain('\n');
    expect(existsSync(stack.store.runFolder(run))).toBe(false);
    expect((await stack.store.listRuns()).filter((state) => !isClosed(state))).toEqual([]);
  });
});

test('a hub that stays away refuses the run after some tries, and says that it is the hub', async () => {
  let requestCount = 0;
  const hub = createServer((_request, response) => {
    requestCount++;
    response.writeHead(503).end();
  });
  await new Promise<void>((resolve) => hub.listen(0, '127.0.0.1', resolve));
  await stack.stopWorkers();
  const { port } = hub.address() as AddressInfo;
  await stack.startWorkers({}, { huggingFaceUrl: `http://127.0.0.1:${port}` });
  try {
    const handle = await runs.start('away', runs.config({ dataset: { hub: 'org/name' } }));

    const { code, message } = await failureOf(handle);

    expect(code).toBe('unreachable');
    expect(message).toMatch(/Dataset "org\/name" could not be fetched.*Check the network/);
    expect(message).not.toMatch(/engine\.url|TINKER_BASE_URL/);
    expect(requestCount).toBe(9);
    expect(existsSync(stack.store.runFolder('away'))).toBe(false);
  } finally {
    await stack.stopWorkers();
    await stack.startWorkers();
    hub.closeAllConnections();
    await new Promise((resolve) => hub.close(resolve));
  }
});
