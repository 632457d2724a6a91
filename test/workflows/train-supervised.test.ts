import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import {
  CancelledFailure,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
} from '@temporalio/client';
import { isClosed } from '../../src/client/run-report';
import type { LiveStatus } from '../../src/core/run';
import { createTinkerClient } from '../../src/engines/tinker/client';
import { pauseUpdate, resumeUpdate, timelineQuery } from '../../src/workflows/contracts';
import { HeldTraining } from './harness/held-training';
import { TestPlugins } from './harness/plugins';
import { ReinforcementRuns } from './harness/reinforcement-runs';
import { failureOf, reportOf, TestRuns, until, untilCell, untilStatus } from './harness/runs';
import { TestStack } from './harness/stack';
import { TestService } from './harness/test-service';

const BY = { by: 'test', reason: 'to see' };

let training: HeldTraining;
let stack: TestStack;
let runs: TestRuns;
let plugins: TestPlugins;
let hub: Server;
let hubRequestCount = 0;

beforeAll(async () => {
  hub = createServer((_request, response) => {
    hubRequestCount++;
    response.writeHead(503).end();
  });
  await new Promise<void>((resolve) => hub.listen(0, '127.0.0.1', resolve));
  training = await HeldTraining.create();
  stack = await TestStack.start({ runtime: training });
  runs = new TestRuns(stack);
  plugins = new TestPlugins(stack.folder);
  await startWorkers();
});

afterAll(async () => {
  training.letAllGo();
  await stack.stop();
  hub.closeAllConnections();
  await new Promise((resolve) => hub.close(resolve));
});

/** With a hub that is always away. */
async function startWorkers(): Promise<void> {
  const { port } = hub.address() as AddressInfo;
  await stack.startWorkers({}, { huggingFaceUrl: `http://127.0.0.1:${port}` });
}

function config(more: object = {}) {
  return runs.config({ batchSize: 4, ...more });
}

/** Twelve steps with evaluations of a test split, which nobody asked for in so many words. */
function plainConfig(more: object = {}) {
  const { dataset } = runs.config();
  return config({ dataset: { ...dataset, testPath: runs.testPath }, evalEvery: 5, seed: 7, ...more });
}

/** A config whose evaluators are the test's own. */
function withEvaluators(evaluators: readonly object[], more: object = {}) {
  return config({ plugins: plugins.file, evaluators, ...more });
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

function isWaiting({ status }: LiveStatus): boolean {
  return status === 'waiting';
}

async function stepsAppliedTo(run: string): Promise<number | null> {
  const client = createTinkerClient({ baseUrl: stack.engine.url });
  try {
    return await client.appliedSteps((await stack.modelOf(run)) ?? '');
  } finally {
    await client.close();
  }
}

async function executionsOf(...handles: readonly WorkflowHandle[]): Promise<string[]> {
  return Promise.all(handles.map(async (handle) => (await handle.describe()).runId));
}

/** Waits until this many executions have followed the one that is there. */
async function untilLaterExecution(handle: WorkflowHandle, count = 1): Promise<void> {
  let { runId } = await handle.describe();
  for (let seen = 0; seen < count; seen += 1) {
    runId = await until(async () => {
      const later = (await handle.describe()).runId;
      return later === runId ? null : later;
    });
  }
}

function digestOf(outcome: object | undefined): unknown {
  return Reflect.get(outcome ?? {}, 'finalWeightsDigest');
}

describe('a run that nothing disturbs', () => {
  let outcomes: readonly object[];

  beforeAll(async () => {
    const given = [plainConfig(), plainConfig(), plainConfig({ seed: 8 })];
    const names = ['plain', 'twin', 'other'];
    await Promise.all(names.map((run, index) => runs.train(run, given[index] ?? plainConfig())));
    outcomes = await Promise.all(names.map((run) => runs.outcome(run)));
  });

  test('trains every step once and leaves metrics, checkpoints and a digest', async () => {
    const state = await stack.store.readState('plain');
    const metrics = await stack.store.readMetrics('plain');
    const checkpoints = await stack.store.readCheckpoints('plain');

    expect(state).toMatchObject({ status: 'completed', step: 12, totalSteps: 12 });
    expect(metrics.map(({ step }) => step)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    expect(checkpoints.map(({ name }) => name)).toEqual(['000000', '000005', '000010', 'final']);
    expect(state?.finalWeightsDigest).toMatch(/^[0-9a-f]{64}$/);
  });

  test('gives the same weights, metrics and scores under another name, and others from another seed', () => {
    const [plain, twin, other] = outcomes;

    expect(twin).toEqual(plain);
    expect(digestOf(plain)).toMatch(/^[0-9a-f]{64}$/);
    expect(digestOf(other)).not.toBe(digestOf(plain));
  });

  test('scores the test split unasked, at step 0, on the way and at the end', async () => {
    const scores = await stack.store.readScores('plain');

    const nll = scores.filter(({ metric }) => metric === 'nll');
    expect(nll.map(({ step }) => step).sort((a, b) => a - b)).toEqual([0, 5, 10, 12]);
    expect(
      nll.every(({ value, n, schedule }) => (value ?? 0) > 0 && n > 0 && schedule === 'evaluators'),
    ).toBe(true);
  });

  test('counts every step once although its worker stops and another goes on', async () => {
    const stepsBefore = await stack.stepsApplied();
    const hold = training.holdNext(7);
    const handle = await runs.start('handed-over', plainConfig());
    await hold.held();

    await stack.stopWorkers();
    hold.letGo();
    await startWorkers();

    await reportOf(handle);
    expect(await runs.outcome('handed-over')).toEqual(outcomes[0]);
    expect(await stack.store.readState('handed-over')).toMatchObject({ rewinds: 0, stepsReplayed: 0 });
    expect(await stack.stepsApplied()).toBe(stepsBefore + 12);
  });
});

/** Evaluations that last, and a hub that is away, are waited for while the other stories go on. */
describe('beside runs that wait', () => {
  let held: WorkflowHandle;
  let trained: WorkflowHandle;
  /** The executions in which the two began to wait. */
  let waitingIn: readonly string[];
  let away: WorkflowHandle;

  beforeAll(async () => {
    const schedule = { name: 'gated', at: [4], atStart: false, atEnd: false, evaluators: [gated('both')] };
    const of = (more: object) =>
      config({ plugins: plugins.file, steps: 8, schedules: [{ ...schedule, ...more }] });
    held = await runs.start('held', of({ mode: 'blocking' }), { maxHistoryEvents: 12 });
    trained = await runs.start('trained', of({ at: [8] }), { maxHistoryEvents: 12 });
    away = await runs.start('away', config({ dataset: { hub: 'org/name' } }));
    await untilStatus(held, ({ step, pendingEvaluations }) => step === 4 && pendingEvaluations === 1);
    await untilStatus(trained, ({ step, pendingEvaluations }) => step === 8 && pendingEvaluations === 1);
    waitingIn = await executionsOf(held, trained);
  });

  test('cancelling ends its evaluations, releases the model and keeps what was reached', async () => {
    const hold = training.holdNext(7);
    const handle = await runs.start(
      'unwanted',
      withEvaluators([gated('never')], { steps: 20, evalEvery: 4 }),
    );
    await hold.held();
    // The segment under way tells the run how far it got.
    await handle.executeUpdate(pauseUpdate, { args: [{ ...BY, atStep: 19, seconds: null, then: 'resume' }] });
    await untilCell(handle, ({ step }) => step >= 4);
    await until(async () => ((await openWorkflows('eval/unwanted/')).length > 0 ? true : null));
    const modelId = await until(() => stack.modelOf('unwanted'));

    await handle.cancel();
    await untilStatus(handle, ({ waitingFor }) => /being cancelled/.test(waitingFor?.what ?? ''));
    hold.letGo();

    const ended: unknown = await handle.result().catch((error: unknown) => error);
    expect(ended).toBeInstanceOf(WorkflowFailedError);
    expect((ended as WorkflowFailedError).cause).toBeInstanceOf(CancelledFailure);
    const state = await stack.store.readState('unwanted');
    const metrics = await stack.store.readMetrics('unwanted');
    expect(state).toMatchObject({ status: 'cancelled', reason: 'cancelled on request' });
    expect(state?.step).toBeLessThan(19);
    expect(metrics.length).toBeGreaterThanOrEqual(state?.step ?? Infinity);
    expect(await stack.isModelLoaded(modelId)).toBe(false);
    await until(async () => ((await openWorkflows('eval/unwanted/')).length === 0 ? true : null));
  });

  test('a failing evaluator is a row that says so, beside the scores of the others', async () => {
    const broken = { type: 'plugin', name: 'ruler', evaluator: 'broken' };
    const sums = { type: 'benchmark', benchmark: 'arithmetic', maxExamples: 4 };

    const report = await runs.train('measured', withEvaluators([broken, sums], { steps: 6, evalEvery: 3 }));

    const scores = await runs.scores('measured');
    expect(report).toMatchObject({ status: 'completed', step: 6 });
    expect(scores.filter(({ evaluator }) => evaluator === 'ruler')).toEqual(
      [0, 3, 6].map((step): unknown =>
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
      [0, 3, 6].map((step) => ({ step, n: 4 })),
    );
  });

  test('goes on in new executions while evaluations are under way, and hears of each once', async () => {
    const given = withEvaluators([gated('later')], { steps: 20, evalEvery: 4 });
    const handle = await runs.start('long', given, { maxHistoryEvents: 20 });
    const first = (await handle.describe()).runId;
    await untilStatus(handle, ({ step }) => step === 20);
    const pending = await untilStatus(handle, ({ pendingEvaluations }) => pendingEvaluations === 6);
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
    expect(scores.map(({ step }) => step)).toEqual([0, 4, 8, 12, 16, 20]);
    expect(scores).toEqual(await runs.scores('short'));
    expect(plugins.calls('later')).toBe(12);
  });

  test('refuses a second start of a run, and leaves a finished one as it is', async () => {
    const hold = training.holdNext(1);
    const handle = await runs.start('only', config({ steps: 3 }));
    const again = runs.start('only', config({ seed: 9 }));
    await expect(again).rejects.toBeInstanceOf(WorkflowExecutionAlreadyStartedError);
    hold.letGo();
    await reportOf(handle);
    const before = await runs.outcome('only');

    const third = await runs.start('only', config({ seed: 9 }));

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
    const enormous = {
      messages: [{ role: 'user', content: '1'.repeat(30_000_000) }, ...long.messages.slice(1)],
    };
    /** As processes leave it that died while they prepared the run. */
    const deadly = (run: string) => {
      mkdirSync(stack.store.runFolder(run), { recursive: true });
      const mark = JSON.stringify({ deaths: 4, lastWords: '3 of 12' });
      writeFileSync(join(stack.store.runFolder(run), '.preparation.json'), mark);
      return {};
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
        'enormous',
        'bad-dataset',
        /example 1 \(.*enormous\.jsonl line 1\) has at least \d+ tokens .* maxLength: \d+/,
        () => data('enormous', JSON.stringify(enormous)),
      ],
      ['deadly', 'refused', /5 times in a row .* "3 of 12"/, () => deadly('deadly')],
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
      const handle = await runs.start(run, config(more()));

      const failure = await failureOf(handle);

      expect(failure).toEqual({ code, message: expect.stringMatching(message) as string });
      expect(failure.message).not.toContain('\n');
      expect(existsSync(stack.store.runFolder(run))).toBe(false);
      const open = (await stack.store.listRuns()).filter((state) => !isClosed(state));
      expect(open.map(({ run: name }) => name)).not.toContain(run);
    });
  });

  test('a service that is away for long: one run cannot open its model again, another cannot sample', async () => {
    const service = await TestService.start({ runtime: training, dataFolder: join(stack.folder, 'service') });
    const reinforcement = new ReinforcementRuns(stack);
    const engine = { url: service.url };
    const supervised = config({ steps: 10, engine });
    const rewarded = reinforcement.config({ steps: 4, groupsPerBatch: 2, evalEvery: 4, engine });
    const hold = training.holdNext(5);
    const letGo = await runs.start('let-go', supervised, { maxHistoryEvents: 12, holdSeconds: 0 });
    await hold.held();
    const otherHold = training.holdNext(1);
    const unsampled = await reinforcement.start('unsampled', rewarded, { maxHistoryEvents: 12 });
    await otherHold.held();
    const cutOff = [letGo, unsampled];
    const pause = { ...BY, atStep: null, seconds: null, then: 'resume' as const };
    await Promise.all(cutOff.map((handle) => handle.executeUpdate(pauseUpdate, { args: [pause] })));
    for (const each of [hold, otherHold]) each.letGo();
    await until(async () => {
      const events = await letGo.query(timelineQuery);
      return events.some(({ kind }) => kind === 'released') ? true : null;
    });
    await untilStatus(unsampled, ({ status }) => status === 'paused');
    await Promise.all([runs.train('kept', supervised), reinforcement.train('sampled', rewarded)]);

    await service.restart(hold, async () => {
      await Promise.all(cutOff.map((handle) => handle.executeUpdate(resumeUpdate, { args: [BY] })));
      await Promise.all(cutOff.map((handle) => untilStatus(handle, isWaiting)));
      await Promise.all(cutOff.map((handle) => untilLaterExecution(handle, 2)));
      await Promise.all(cutOff.map((handle) => untilStatus(handle, isWaiting)));
    });

    await Promise.all(cutOff.map(reportOf));
    await service.close();
    expect(await runs.outcome('let-go')).toEqual(await runs.outcome('kept'));
    expect(await reinforcement.outcome('unsampled')).toEqual(await reinforcement.outcome('sampled'));
  });

  test('a hub that stays away refuses the run after some tries, and says that it is the hub', async () => {
    const { code, message } = await failureOf(away);

    expect(code).toBe('unreachable');
    expect(message).toMatch(/Dataset "org\/name" could not be fetched.*Check the network/);
    expect(message).not.toMatch(/engine\.url|TINKER_BASE_URL/);
    expect(hubRequestCount).toBe(9);
    expect(existsSync(stack.store.runFolder('away'))).toBe(false);
  });

  test('evaluations that take long: one holds training still, another is all that is left of its run', async () => {
    await until(async () => {
      const now = await executionsOf(held, trained);
      return now.every((id, index) => id !== waitingIn[index]) || null;
    });
    const stillHeld = await untilStatus(held, ({ totalSteps }) => totalSteps > 0);
    // Other runs have trained for as long as this one was held.
    const applied = await stepsAppliedTo('held');
    plugins.open('both');
    const reports = await Promise.all([held, trained].map(reportOf));

    expect(applied).toBe(4);
    expect(stillHeld).toMatchObject({ step: 4, pendingEvaluations: 1 });
    expect(reports).toMatchObject([
      { status: 'completed', step: 8 },
      { status: 'completed', step: 8 },
    ]);
    expect((await runs.scores('held')).map(({ step }) => step)).toEqual([4]);
    expect((await runs.scores('trained')).map(({ step }) => step)).toEqual([8]);
    expect(plugins.calls('both')).toBe(2);
  });
});
