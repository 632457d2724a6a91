import { execFileSync } from 'node:child_process';
import fs, { appendFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import { AppliedSteps } from '../../src/engines/local/server/applied-steps';
import { createTinkerClient } from '../../src/engines/tinker/client';
import type { TinkerClient } from '../../src/engines/tinker/client';
import type { TestEngine } from '../unit/engines/local/server/engine-driver';
import { forwardBackwardBody, startTestEngine } from '../unit/engines/local/server/engine-driver';
import { EngineProcess } from './engine-process';

/** The engine's own count of optimizer steps, which a run asks to know what it trains again. */

const logger = pino({ level: 'silent' });
let folder: string;
const engines: TestEngine[] = [];
const clients: TinkerClient[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-ledger-'));
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const engine of engines.splice(0)) await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(options: Parameters<typeof startTestEngine>[0] = {}): Promise<TestEngine> {
  const engine = await startTestEngine(options);
  engines.push(engine);
  return engine;
}

function connect(url: string): TinkerClient {
  const client = createTinkerClient({ baseUrl: url, retryDelayMs: 10 });
  clients.push(client);
  return client;
}

/** Sends `count` steps, one after the other, without waiting for any. */
async function submitSteps({ driver }: TestEngine, modelId: string, count: number): Promise<string[]> {
  const requestIds: string[] = [];
  for (let step = 0; step < count; step++) {
    await driver.post('forward_backward', forwardBackwardBody(modelId, 2 * step + 1, 3));
    requestIds.push((await driver.step(modelId, 2 * step + 2)).body.request_id);
  }
  return requestIds;
}

async function applySteps(engine: TestEngine, modelId: string, count: number): Promise<void> {
  for (const requestId of await submitSteps(engine, modelId, count)) await engine.driver.retrieve(requestId);
}

function ledgerFile(dataFolder: string): string {
  return path.join(dataFolder, 'applied-steps.jsonl');
}

function ledgerRows(dataFolder: string): unknown[] {
  const lines = readFileSync(ledgerFile(dataFolder), 'utf8').trimEnd().split('\n');
  return lines.map((line): unknown => JSON.parse(line));
}

test('counts each model apart, keeps counting over a restart, and knows the models of an earlier life', async () => {
  const engine = await start();
  const one = await engine.driver.createModel(await engine.driver.openSession());
  const other = await engine.driver.createModel(await engine.driver.openSession());
  await applySteps(engine, one, 3);
  await applySteps(engine, other, 1);

  await engine.restart();
  const third = await engine.driver.createModel(await engine.driver.openSession());
  await applySteps(engine, third, 2);

  const client = connect(engine.driver.url);
  const metrics = (await engine.driver.get('/metrics')).bytes.toString();
  expect(await Promise.all([one, other, third, 'nobody'].map((id) => client.appliedSteps(id)))).toEqual([
    3, 1, 2, 0,
  ]);
  expect(ledgerRows(engine.dataFolder)).toEqual([
    { model: one, step: 1 },
    { model: one, step: 2 },
    { model: one, step: 3 },
    { model: other, step: 1 },
    { model: third, step: 1 },
    { model: third, step: 2 },
  ]);
  expect(metrics).toContain('everstep_engine_steps_applied_total 2');
});

test.each([
  ['a resent step once where it is recognised', true, 1],
  ['a resent step twice where it is computed twice', false, 2],
])('counts %s', async (_, deduplicate, expected) => {
  const engine = await start({ profile: { deduplicate } });
  const model = await engine.driver.createModel(await engine.driver.openSession());
  await applySteps(engine, model, 1);
  const resent = await engine.driver.step(model, 2);
  await engine.driver.retrieve(resent.body.request_id);

  expect(await connect(engine.driver.url).appliedSteps(model)).toBe(expected);
});

test('a model that is unloaded gets no step after its unloading is answered', async () => {
  const engine = await start();
  const client = connect(engine.driver.url);
  const model = await engine.driver.createModel(await engine.driver.openSession());
  engine.runtime.trainingGate.shut();
  await submitSteps(engine, model, 3);
  let isUnloaded = false;
  const unloading = client.unloadModel(model).then(() => {
    isUnloaded = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  const refused = await engine.driver.step(model, 7);
  const early = isUnloaded;

  engine.runtime.trainingGate.open();
  await unloading;

  const counted = await client.appliedSteps(model);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect({ early, refused: refused.status, counted }).toEqual({ early: false, refused: 404, counted: 3 });
  expect(await client.appliedSteps(model)).toBe(counted);
});

test('asked without a model, it says what is missing', async () => {
  const { driver } = await start();

  expect(await driver.get('/everstep/applied_steps')).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining('model_id') as string },
  });
});

test('a client does not ask a service that does not say it counts', async () => {
  const { driver } = await start();
  const client = createTinkerClient({ baseUrl: driver.url, profile: { countsAppliedSteps: false } });
  clients.push(client);

  expect(await client.appliedSteps('any')).toBeNull();
});

describe('the file', () => {
  const open = (limits: { maxBytes?: number; maxModels?: number } = {}) =>
    AppliedSteps.open(folder, { logger, ...limits });

  test('is cut to the last row of each model once it is large, and goes on counting', () => {
    const first = open();
    for (let step = 0; step < 50; step++) first.add('long');
    first.add('short');
    first.close();

    const second = open({ maxBytes: 1000 });
    second.add('long');

    expect(ledgerRows(folder)).toEqual([
      { model: 'long', step: 50 },
      { model: 'short', step: 1 },
      { model: 'long', step: 51 },
    ]);
    second.close();
  });

  test('stays small while the engine runs, and forgets the models unused for longest', () => {
    const ledger = open({ maxBytes: 1000, maxModels: 3 });

    for (let model = 0; model < 40; model++)
      for (let step = 0; step < 20; step++) ledger.add(`model-${model}`);

    expect(readFileSync(ledgerFile(folder)).length).toBeLessThan(1100);
    expect(ledger.countOf('model-39')).toBe(20);
    expect(ledger.countOf('model-0')).toBe(0);
    ledger.close();
  });

  test('gets its rows later where the disk was full for a while', () => {
    const ledger = open();
    ledger.add('a');
    const full = jest.spyOn(fs, 'writeSync').mockImplementation(() => {
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    });
    ledger.add('a');
    full.mockRestore();

    ledger.add('a');

    expect(ledger.countOf('a')).toBe(3);
    expect(ledgerRows(folder)).toEqual([1, 2, 3].map((step) => ({ model: 'a', step })));
    ledger.close();
  });

  test.each<[string, (file: string) => unknown]>([
    ['a pipe', (file) => execFileSync('mkfifo', [file])],
    ['a folder', (file) => execFileSync('mkdir', [file])],
    ['a link', (file) => execFileSync('ln', ['-s', '/dev/zero', file])],
  ])('is refused by its path where %s is in its place', (what, make) => {
    make(ledgerFile(folder));

    expect(open).toThrow(`${ledgerFile(folder)} cannot be read: it is ${what} where a file belongs. Move it`);
  });

  test('is not cut through a link that lies where it is written anew', () => {
    const other = path.join(folder, 'other.txt');
    writeFileSync(other, 'years of work');
    symlinkSync(other, `${ledgerFile(folder)}.new`);
    const ledger = open({ maxBytes: 100 });

    for (let step = 0; step < 10; step++) ledger.add('a');
    ledger.close();

    expect(readFileSync(other, 'utf8')).toBe('years of work');
    expect(ledgerRows(folder).at(-1)).toEqual({ model: 'a', step: 10 });
  });

  test('may end in the middle of a row, or hold a line of something else', () => {
    writeFileSync(ledgerFile(folder), '{"model":"a","step":1}\nwhat is this\n{"model":"a","step":2}\n');
    appendFileSync(ledgerFile(folder), '{"model":"a","st');

    const ledger = open();
    ledger.add('a');
    ledger.close();

    const again = open();
    expect(again.countOf('a')).toBe(3);
    again.close();
  });
});

test('kill -9 in the middle of steps loses none that was answered', async () => {
  const engine = await EngineProcess.start({ dataFolder: folder });
  const client = connect(engine.url);
  const sessionId = await client.createSession();
  const lora = { rank: 4, seed: 1 };
  const { modelId } = await client.createModel({
    sessionId,
    modelSeqId: 0,
    baseModel: 'everstep/tiny',
    lora,
  });
  const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, gradClipNorm: 0 };
  const tokens = Int32Array.of(2, 3, 4, 5);
  const data = [{ tokens, targetTokens: tokens, lossInputs: { weights: Float32Array.of(1, 1, 1, 1) } }];
  const promises = [];
  for (let step = 0; step < 200; step++) {
    const common = { modelId, seqId: 2 * step + 1 };
    await client.submitForwardBackward({ ...common, data, lossFn: 'cross_entropy' });
    promises.push(await client.submitOptimStep({ modelId, seqId: 2 * step + 2, adam }));
  }
  let answeredCount = 0;
  const collecting = promises.map(async (promise) => {
    await client.collectOptimStep(promise);
    answeredCount += 1;
  });
  while (answeredCount < 5) await new Promise((resolve) => setTimeout(resolve, 1));

  await engine.kill();
  const answered = answeredCount;
  await client.close();
  await Promise.allSettled(collecting);

  const next = await EngineProcess.start({ dataFolder: folder });
  const counted = (await connect(next.url).appliedSteps(modelId)) ?? NaN;
  await next.kill();
  expect(counted).toBeGreaterThanOrEqual(answered);
  expect(counted).toBeLessThanOrEqual(200);
});
