import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { BenchmarkRequest } from '../../src/core/benchmark-run';
import { failureOf, reportOf, TestRuns } from '../workflows/harness/runs';
import { TestStack } from '../workflows/harness/stack';

const KEY = 'tml-worker-key-0123456789';

let stack: TestStack;
let runs: TestRuns;
let elsewhere: string;
let listener: Server;
/** Of every request that the attacker's service got. */
let heard: IncomingHttpHeaders[] = [];

beforeAll(async () => {
  stack = await TestStack.start();
  runs = new TestRuns(stack);
  elsewhere = mkdtempSync(join(tmpdir(), 'everstep-attack-'));
  listener = createServer((request, response) => {
    heard.push(request.headers);
    response.writeHead(401, { 'content-type': 'application/json' }).end('{"detail":"your key, please"}');
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  await stack.startWorkers({ apiKey: KEY }, { openaiApiKey: KEY, judgeApiKey: KEY });
});
afterAll(async () => {
  listener.close();
  await stack.stop();
  rmSync(elsewhere, { recursive: true });
});
beforeEach(() => {
  heard = [];
});

/** Nobody configured it anywhere. */
function theirs(): string {
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
}

/** A file that tells when it is run. */
function trap(): { readonly file: string; readonly wasRun: () => boolean } {
  const mark = join(elsewhere, 'was-run');
  const file = join(elsewhere, 'plugins.js');
  writeFileSync(file, `require('node:fs').writeFileSync(${JSON.stringify(mark)}, '');\nmodule.exports = {};`);
  return { file, wasRun: () => existsSync(mark) };
}

/** One question of a benchmark that is judged. */
function writeArena(): string {
  mkdirSync(join(elsewhere, 'arena_hard'));
  const row = { question_id: 'q', category: 'c', turns: [{ content: 'Why?' }], baseline_answer: 'So.' };
  writeFileSync(join(elsewhere, 'arena_hard', 'data.jsonl'), `${JSON.stringify(row)}\n`);
  return elsewhere;
}

function evaluate(name: string, more: Partial<BenchmarkRequest>): Promise<WorkflowHandle> {
  const request: BenchmarkRequest = {
    ...{ run: name, folder: join(stack.folder, 'store', 'evals', name), benchmark: 'arithmetic' },
    ...{ numSamples: 1, concurrency: 1, agentConcurrency: 1, maxExamples: 1 },
    model: { type: 'engine', model: 'everstep/tiny', path: null, label: null },
    ...more,
  };
  return stack.client.workflow.start('runBenchmark', {
    taskQueue: 'everstep',
    workflowId: `eval/${name}`,
    args: [{ request, useSearchAttributes: false }],
  });
}

test('whoever can start workflows cannot have a file run that the worker was not told of', async () => {
  const { file, wasRun } = trap();

  const training = await failureOf(await runs.start('trap', runs.config({ plugins: file })));
  const evaluation = await failureOf(await evaluate('trap', { plugins: file }));

  const refusal = { code: 'refused', message: expect.stringContaining(file) as string };
  expect([training, evaluation]).toEqual([refusal, refusal]);
  expect(wasRun()).toBe(false);
});

test('nor forge what a person allows, by the folder that results go into', async () => {
  const { file, wasRun } = trap();
  const placeOf = (text: string) =>
    join(stack.folder, 'allowed', createHash('sha256').update(text).digest('hex'));
  const model = { type: 'endpoint', url: theirs(), api: 'chat', model: 'theirs' } as const;
  await reportOf(await evaluate('forged-code', { folder: placeOf(`code ${file}`) }));
  await reportOf(await evaluate('forged-key', { folder: placeOf(`key ${theirs()}`) }));
  expect(readdirSync(join(stack.folder, 'allowed'))).toHaveLength(2);

  expect(await failureOf(await evaluate('trap', { plugins: file }))).toMatchObject({ code: 'refused' });
  await failureOf(await evaluate('listened', { model }));

  expect(wasRun()).toBe(false);
  expect(heard.length).toBeGreaterThan(0);
  expect(JSON.stringify(heard)).not.toContain(KEY);
});

test('a config of wrong types ends its run with the field that is wrong', async () => {
  const wrong: readonly (readonly [string, object])[] = [
    ['model', { model: 5 }],
    ['steps', { steps: 1e300 }],
    ['dataset', { dataset: [] }],
    ['evaluators', { evaluators: 'all', evalEvery: 1 }],
  ];
  for (const [field, change] of wrong) {
    const config = Object.assign(runs.config(), change);
    const failure = await failureOf(await runs.start(`wrong-${field}`, config));

    expect(failure.code).toBe('bad-config');
    expect(failure.message).toMatch(new RegExp(`^The config that the workflow was started with.*: ${field}`));
  }
});

/** As whoever reaches the server starts any workflow. */
function startAny(type: string, workflowId: string, ...args: unknown[]): Promise<WorkflowHandle> {
  return stack.client.workflow.start(type, { taskQueue: 'everstep', workflowId, args });
}

const CHECKPOINT = { run: 'mine', step: 1, model: { model: 'everstep/tiny' } };
const MATRIX = {
  name: 'm',
  store: '/s',
  checkpoints: [CHECKPOINT],
  benchmarks: ['a'],
  asking: {},
  parallel: 2,
};

test.each([
  ['canary', { request: {} }, 'request.name'],
  ['canary', { request: { name: 'c', store: '/s', benchmarks: 'x' } }, 'request.benchmarks'],
  ['backfill', { request: { ...MATRIX, checkpoints: 7 } }, 'request.checkpoints'],
  ['backfill', { request: { ...MATRIX, benchmarks: 7 } }, 'request.benchmarks'],
  ['backfill', { request: MATRIX, cells: 7 }, 'cells'],
  ['backfill', { request: MATRIX, maxHistoryEvents: 1 }, 'maxHistoryEvents'],
  ['trainSupervised', { run: 'mine', config: {}, provenance: {}, maxHistoryEvents: -5 }, 'maxHistoryEvents'],
  ['askPython', { activity: 'x', taskQueue: 'everstep-training' }, 'taskQueue'],
])('a workflow %s of %j is refused by its field', async (type, input, field) => {
  const failure = await failureOf(await startAny(type, `odd/${type}/${field}`, input));

  expect(failure.code).toBe('bad-config');
  expect(failure.message).toContain(`starts ${type} with such an input: "${field}" has to be`);
});

/** What `runBenchmark` is asked, and how the field that is wrong is told. */
const WRONG_REQUESTS: readonly (readonly [string, unknown, string])[] = [
  ['plugins', 5, 'plugins is 5. Give a text.'],
  ['folder', 'results', 'folder: give an absolute path.'],
  ['model', { model: 'everstep/tiny' }, 'model.type is '],
  ['model', { type: 'endpoint', url: 'http://127.0.0.1:9', api: 'zzz', model: 'm' }, 'model.api is "zzz".'],
  ['model', { type: 'engine', model: {}, path: null, label: null }, 'model.model is {}. Give a text.'],
  ['benchmark', '../up', 'benchmark: use 1 to 100 letters'],
  ['systemPrompt', {}, 'systemPrompt is {}. Give a text.'],
  ['numSamples', 1e300, 'numSamples is 1e+300. Give a number of at most 10000.'],
  ['judges', 7, 'judges is 7. Give a list.'],
  ['judges', [{}], 'judges[0].model is missing.'],
  ['temperature', 'x', 'temperature is "x". Give a number.'],
  ['concurrency', 1e300, 'concurrency is 1e+300. Give a number of at most 4096.'],
  ['agentConcurrency', 0, 'agentConcurrency is 0. Give a number of at least 1.'],
  ['maxTokens', 1e300, 'maxTokens is 1e+300. Give a number of at most'],
  ['contextWindow', -1, 'contextWindow is -1. Give a number of at least 1.'],
  ['budget', { tokens: -1 }, 'budget.tokens is -1. Give a number above 0.'],
  ['dataFolder', 5, 'dataFolder is 5. Give a text.'],
];

test.each(WRONG_REQUESTS)('a benchmark with %s %j is refused by its field', async (field, value, problem) => {
  const failure = await failureOf(await evaluate('odd', { [field]: value }));

  expect(failure.code).toBe('bad-config');
  expect(failure.message).toMatch(/^The request that the workflow was started with/);
  expect(failure.message).toContain(problem);
});

test.each([
  ['folder', 5],
  ['model', 7],
  ['benchmark', 5],
  ['budget', 7],
])('a benchmark whose workflow cannot read its %s is refused by it', async (field, value) => {
  const failure = await failureOf(await evaluate('odd-for-workflow', { [field]: value }));

  expect(failure.code).toBe('bad-config');
  expect(failure.message).toContain(field);
});

test('a column of a backfill that no command asks for fails by its field', async () => {
  const model = { type: 'engine', model: 'everstep/tiny', path: null, label: null };
  const checkpoint = { run: 'mine', step: 1, lineage: 0, model, paths: [], evalRun: 'mine-1' };
  const asking = { numSamples: 1, concurrency: 1, agentConcurrency: 1, temperature: 'x' };
  const request = { ...MATRIX, checkpoints: [checkpoint], asking };

  const state: unknown = await (await startAny('backfill', 'backfill/m', { request })).result();

  expect(state).toMatchObject({
    cells: [{ status: 'failed', reason: expect.stringContaining('asking.temperature is "x"') as string }],
  });
});

test('a canary that no command makes fails by its field', async () => {
  const request = {
    ...{ name: 'odd', store: '/s', benchmarks: [], deadlineSeconds: 60, pin: { type: 'first' } },
    model: { type: 'engine', model: 'everstep/tiny', path: null, label: null },
    asking: {},
    band: { type: 'test', level: 'x' },
  };

  const failure = await failureOf(await startAny('canary', 'canary/odd', { request }));

  expect(failure).toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining('band.level is "x". Give a number.') as string,
  });
});

test('an evaluation of a checkpoint says by its field what no run asks for', async () => {
  const asked = { run: 'mine', step: 1, attempt: 1, lineage: 0, parentWorkflowId: 'train/mine' };
  const evaluators = ['arithmetic'];
  const without = await startAny('evaluateCheckpoint', 'odd/evaluate', { ...asked, evaluators });
  const budgets = { arithmetic: { seconds: 'x' } };
  const timed = await startAny('evaluateCheckpoint', 'odd/timed', { ...asked, evaluators, budgets });

  expect(await without.result()).toEqual([
    expect.objectContaining({ error: expect.stringContaining('samplerPath is missing.') as string }),
  ]);
  expect((await failureOf(timed)).message).toContain('"budgets.arithmetic.seconds" has to be');
});

test('an evaluator by itself with judges of no form is refused by them', async () => {
  const request = {
    ...{ run: 'alone', folder: '/s', evaluator: 'x', trainingRun: 'mine', step: 1, lineage: 0 },
    ...{ samplerPath: '', rejudging: { samplesFrom: '/s/x', judges: 7 } },
  };

  const failure = await failureOf(await startAny('runEvaluator', 'odd/alone', { request }));

  expect(failure).toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining('rejudging.judges is 7. Give a list.') as string,
  });
});

test('nor does a run begin with what another execution would have carried', async () => {
  const input = runs.inputOf('carried', runs.config());

  const failure = await failureOf(await startAny('trainSupervised', 'train/carried', input, { plan: 7 }));

  expect(failure).toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining('second argument') as string,
  });
});

test.each(['constructor', 'toString', 'hasOwnProperty'])('%s is no workflow', async (type) => {
  expect(await failureOf(await startAny(type, `odd/${type}`))).toEqual({
    code: 'bad-config',
    message: `Everstep has no workflow ${type}.`,
  });
});

test('an activity that no worker of a queue has is not asked for for ever', async () => {
  const activities = { listNames: () => Promise.resolve('none') };
  const connection = await NativeConnection.connect({ address: stack.address });
  const worker = await Worker.create({
    ...{ connection, namespace: stack.namespace },
    ...{ taskQueue: 'others', activities },
  });

  const failure = await worker.runUntil(async () =>
    failureOf(await startAny('askPython', 'python/x/1', { activity: 'x', taskQueue: 'others', input: {} })),
  );
  await connection.close();

  expect(failure).toEqual({
    code: 'NotFoundError',
    message: expect.stringContaining('x is not registered') as string,
  });
});

test('a workflow of another id takes no run from its own', async () => {
  const config = runs.config({ steps: 2, batchSize: 4 });
  await reportOf(await runs.start('owned', config));
  const before = await stack.store.readOwner('owned');

  const taken = runs.inputOf('owned', config, { continues: true });
  const begun = runs.inputOf('not-owned', config);
  const failures = [
    await failureOf(await startAny('trainSupervised', 'other/owned', taken)),
    await failureOf(await startAny('trainSupervised', 'other/not-owned', begun)),
  ];

  expect(failures.map(({ code }) => code)).toEqual(['refused', 'refused']);
  expect(failures[0]?.message).toContain('"train/owned"');
  expect(await stack.store.readOwner('owned')).toEqual(before);
});

test('nor does one that a foreign execution goes on as, whatever state it hands over', async () => {
  const config = runs.config({ steps: 2, batchSize: 4 });
  await reportOf(await runs.start('kept', config));
  const before = await stack.store.readState('kept');
  const connection = await NativeConnection.connect({ address: stack.address });
  const worker = await Worker.create({
    ...{ connection, namespace: stack.namespace },
    ...{ taskQueue: 'foreign', workflowsPath: require.resolve('./foreign-workflow') },
  });
  const handedOver = async ({ run, workflowId }: { run: string; workflowId: string }, state: unknown) => {
    const handle = await stack.client.workflow.start('handOver', {
      ...{ taskQueue: 'foreign', workflowId },
      args: ['trainSupervised', runs.inputOf(run, config), state],
    });
    return failureOf(handle);
  };

  const [taken, odd] = await worker.runUntil(async () => [
    await handedOver({ run: 'kept', workflowId: 'train/other' }, { plan: { run: 'kept' }, segment: 50 }),
    await handedOver({ run: 'odd', workflowId: 'train/odd' }, 'x'),
  ]);
  await connection.close();

  expect(taken).toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining('"train/kept"') as string,
  });
  expect(odd).toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining('"carried" has to be an object') as string,
  });
  expect(await stack.store.readState('kept')).toEqual(before);
});

test('nor have the key of a training service sent to an address of their own', async () => {
  const failure = await failureOf(await runs.start('listen', runs.config({ engine: { url: theirs() } })));

  expect(failure.code).toBe('unauthorized');
  expect(failure.message).toContain('EVERSTEP_KEY_ADDRESSES');
  expect(heard.length).toBeGreaterThan(0);
  expect(JSON.stringify(heard)).not.toContain(KEY);
});

test('nor those of endpoints, of the model that is measured or of a judge', async () => {
  const model = { type: 'endpoint', url: theirs(), api: 'chat', model: 'theirs' } as const;
  const judge = { model, temperature: 0, topP: 1, concurrency: 1, timeoutSeconds: 5 };

  await failureOf(await evaluate('asked', { model }));
  const askedCount = heard.length;
  const judged = { benchmark: 'arena_hard', dataFolder: writeArena(), judges: [judge] };
  await failureOf(await evaluate('judged', judged));

  expect(askedCount).toBeGreaterThan(0);
  expect(heard.length).toBeGreaterThan(askedCount);
  expect(JSON.stringify(heard)).not.toContain(KEY);
});

test('a signal of any form ends neither a run nor an evaluation', async () => {
  const config = runs.config({ steps: 2, batchSize: 4 });
  const told = { taskQueue: 'everstep', signalArgs: [] };
  const run = await stack.client.workflow.signalWithStart('trainSupervised', {
    ...told,
    workflowId: 'train/told',
    signal: 'evaluationFinished',
    args: [runs.inputOf('told', config)],
  });
  const evaluation = await stack.client.workflow.signalWithStart('evaluateCheckpoint', {
    ...told,
    workflowId: 'eval/told/2',
    signal: 'cancelEvaluators',
    args: [{ run: 'told', step: 2, attempt: 1, evaluators: [], parentWorkflowId: 'train/told' }],
  });
  for (const args of [[null], ['x'], [{ step: 2 }], [{ step: 2, cells: [{}] }], [1, 2, 3]]) {
    await run.signal('evaluationFinished', ...args).catch(() => undefined);
  }

  expect(await reportOf(run)).toMatchObject({ status: 'completed', step: 2 });
  expect(await evaluation.result()).toEqual([]);
});
