import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ReinforcementConfig } from '../../../src/config/reinforcement-config';
import { SupervisedConfig } from '../../../src/config/supervised-config';
import type { CheckpointRow } from '../../../src/core/run';
import type { ModelIncarnation, OpenedModel, OpenModelInput } from '../../../src/core/training-plan';
import { createTinkerClient } from '../../../src/engines/tinker/client';
import { createRunStore } from '../../../src/stores/run-store';
import type { RunStore } from '../../../src/stores/run-store';
import { createEngineAccess } from '../../../src/training/engine-access';
import { openModel } from '../../../src/training/open-model';
import type { RunRecord } from '../../../src/training/run-folder';
import type { TestEngine } from '../engines/local/server/engine-driver';
import { forwardBackwardBody, startTestEngine } from '../engines/local/server/engine-driver';
import { BASE_MODEL } from '../engines/local/server/fake-runtime';
import type { ScriptedServer } from '../engines/tinker/scripted-server';
import { startScriptedServer } from '../engines/tinker/scripted-server';

const RUN = 'story';
/** Of whoever writes the journals next. */
let lease = 0;
let folder: string;
let store: RunStore;
const engines: TestEngine[] = [];
const servers: ScriptedServer[] = [];

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-open-'));
  store = createRunStore(folder);
  await store.claim(RUN, { workflowId: `train/${RUN}`, firstRunId: 'first' });
});

afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
  for (const server of servers.splice(0)) await server.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startEngine(options: Parameters<typeof startTestEngine>[0] = {}): Promise<TestEngine> {
  const engine = await startTestEngine(options);
  engines.push(engine);
  return engine;
}

interface Attempt {
  readonly url: string;
  readonly epoch?: number;
  readonly initialPath?: string | null;
  readonly profile?: 'tinker' | 'skyrl';
  readonly input?: Partial<OpenModelInput>;
  /** Of a reinforcement run; supervised without. */
  readonly numSubsteps?: number;
}

function open({
  url,
  epoch = ++lease,
  initialPath = null,
  profile,
  input = {},
  numSubsteps,
}: Attempt): Promise<OpenedModel> {
  const common = { model: BASE_MODEL, loraRank: 4, engine: { url, ...(profile && { profile }) } };
  const config =
    numSubsteps === undefined
      ? SupervisedConfig.parse({ kind: 'sft', dataset: { path: '/nowhere.jsonl' }, ...common })
      : ReinforcementConfig.parse({
          kind: 'rl',
          environment: { type: 'arithmetic' },
          numSubsteps,
          ...common,
        });
  const record: RunRecord = {
    run: RUN,
    config,
    initialPath,
    evaluators: {},
    renderer: 'role_colon',
    engineUrl: url,
    data: {
      source: '',
      revision: null,
      contentHash: '',
      preparedHash: '',
      trainCount: 1,
      testCount: 0,
      skippedCount: 0,
      truncatedCount: 0,
    },
    provenance: {},
  };
  const engineAccess = createEngineAccess({ unreachableAfterMs: 2000 });
  const { signal } = new AbortController();
  return openModel(
    { store, engines: engineAccess, record, epoch, signal, patienceMs: 200 },
    { ...START, ...input },
  );
}

const START: OpenModelInput = {
  run: RUN,
  incarnation: 0,
  lineage: 0,
  segment: 1,
  collectedThrough: -1,
  previous: null,
};

/** Trains a life of the model and saves it after each of these steps, without journalling anything. */
async function train(
  { driver }: TestEngine,
  { modelId, baseStep = 0 }: Pick<ModelIncarnation, 'modelId' | 'baseStep'>,
  { stepCount, saveAt = [] }: { readonly stepCount: number; readonly saveAt?: readonly number[] },
): Promise<void> {
  let sequence = 1;
  for (let step = baseStep + 1; step <= baseStep + stepCount; step++) {
    await driver.post('forward_backward', forwardBackwardBody(modelId, sequence++, 3));
    await driver.retrieve((await driver.step(modelId, sequence++)).body.request_id);
    if (!saveAt.includes(step)) continue;
    const path = nameOf(step);
    const { body } = await driver.finish('save_weights', { model_id: modelId, seq_id: sequence++, path });
    await journal({ checkpoints: [{ step, path: body.path }] });
  }
}

function nameOf(step: number): string {
  return String(step).padStart(6, '0');
}

async function journal(rows: {
  readonly checkpoints?: readonly { readonly step: number; readonly path: string }[];
  readonly steps?: readonly number[];
}): Promise<void> {
  const epoch = ++lease;
  const checkpoints = await store.openJournal(RUN, 'checkpoints', { epoch });
  for (const row of rows.checkpoints ?? []) checkpoints.append(checkpointRow(row.step, row.path));
  await checkpoints.close();
  const metrics = await store.openJournal(RUN, 'metrics', { epoch });
  for (const step of rows.steps ?? []) metrics.append({ step });
  await metrics.close();
}

function checkpointRow(step: number, path: string): CheckpointRow {
  return {
    ...{ step, name: nameOf(step), batch: step, epoch: 0, final: false, state_path: path },
    ...{ sampler_path: null, elapsed_tokens: 10 * step, lineage: 0, incarnation: 0 },
  };
}

describe('steps trained again', () => {
  test('are those that the life before was given beyond the checkpoint, journalled or not', async () => {
    const engine = await startEngine();
    const url = engine.driver.url;
    const first = await open({ url });
    await train(engine, first.model, { stepCount: 7, saveAt: [2, 4] });
    await journal({ steps: [1, 2, 3, 4, 5] });

    const second = await open({ url, input: { collectedThrough: 5, previous: first.model } });
    await train(engine, second.model, { stepCount: 2 });
    const third = await open({ url, input: { collectedThrough: 5, previous: second.model } });

    expect(first).toMatchObject({ stepsToReplay: 0, model: { baseStep: 0 } });
    expect(second).toMatchObject({ stepsToReplay: 3, model: { baseStep: 4 }, position: { tokens: 40 } });
    expect(third).toMatchObject({ stepsToReplay: 2, model: { baseStep: 4 } });
    expect((await engine.driver.post('get_info', { model_id: first.model.modelId })).status).toBe(404);
  });

  test('are the same when the attempt that counted them died, and when the engine was killed', async () => {
    const engine = await startEngine();
    const first = await open({ url: engine.driver.url });
    await train(engine, first.model, { stepCount: 6, saveAt: [3] });
    const input = { collectedThrough: 4, previous: first.model };
    const lost = await open({ url: engine.driver.url, input });
    const again = await open({ url: engine.driver.url, input });
    await engine.restart();
    const later = await open({ url: engine.driver.url, input });

    expect([lost, again, later].map(({ stepsToReplay }) => stepsToReplay)).toEqual([3, 3, 3]);
  });

  test('are at least those collected, where the record of them is gone', async () => {
    const engine = await startEngine();
    const first = await open({ url: engine.driver.url });
    await train(engine, first.model, { stepCount: 3, saveAt: [3] });
    const stranger = { ...first.model, modelId: 'of-another-engine:train:0' };

    const second = await open({
      url: engine.driver.url,
      input: { collectedThrough: 5, previous: stranger },
    });

    expect(second.stepsToReplay).toBe(2);
  });

  test('are the journalled ones too, where the record of them is gone and a run goes on from an earlier step', async () => {
    const engine = await startEngine();
    const lost = { ...(await open({ url: engine.driver.url })).model, modelId: 'of-another-engine:train:0' };
    await journal({ steps: [1, 2, 3, 4, 5, 6, 7] });

    const second = await open({
      url: engine.driver.url,
      input: { collectedThrough: 4, previous: lost },
    });

    expect(second.stepsToReplay).toBe(7);
  });

  test('are steps where each has several updates, the one that was begun included', async () => {
    const engine = await startEngine();
    const { url } = engine.driver;
    const first = await open({ url, numSubsteps: 3 });
    await train(engine, first.model, { stepCount: 7 });

    const second = await open({ url, numSubsteps: 3, input: { previous: first.model } });

    expect(second.stepsToReplay).toBe(3);
  });

  test.each([
    ['a service that does not count', { profile: 'tinker' as const }, {}],
    ['a life from before base steps were kept', {}, { baseStep: undefined }],
  ])('are the journalled ones after %s', async (_, more, override) => {
    const engine = await startEngine();
    const url = engine.driver.url;
    const first = await open({ url });
    await train(engine, first.model, { stepCount: 7, saveAt: [2] });
    await journal({ steps: [1, 2, 3, 4, 5] });
    const { baseStep, ...before } = first.model;
    const previous = 'baseStep' in override ? before : { ...before, baseStep: baseStep ?? 0 };
    const input = { collectedThrough: 5, previous };

    const second = await open({ url, input, ...more });
    const again = await open({ url, input, ...more });

    expect([second.stepsToReplay, again.stepsToReplay]).toEqual([3, 3]);
  });
});

describe('a checkpoint that is of no use is passed over, and said so:', () => {
  const weights = (engine: TestEngine, modelId: string, step: number) =>
    path.join(engine.dataFolder, 'checkpoints', modelId.replaceAll(':', '_'), 'weights', nameOf(step));

  async function trained() {
    const engine = await startEngine();
    const first = await open({ url: engine.driver.url });
    await train(engine, first.model, { stepCount: 6, saveAt: [2, 4] });
    const client = createTinkerClient({ baseUrl: engine.driver.url });
    const uri = (step: number) => `tinker://${first.model.modelId}/weights/${nameOf(step)}`;
    return { engine, client, first, uri, input: { collectedThrough: 6, previous: first.model } };
  }

  test('deleted', async () => {
    const { engine, client, uri, input } = await trained();
    await client.deleteCheckpoint(uri(4));
    await client.close();

    const opened = await open({ url: engine.driver.url, input });

    expect(opened).toMatchObject({ stepsToReplay: 4, model: { baseStep: 2 } });
    expect(opened.remarks).toEqual([expect.stringMatching(/^Checkpoint 000004 \(step 4\) was passed over/)]);
    expect((await store.readCheckpoints(RUN)).map(({ step }) => step)).toEqual([2]);
  });

  test('expired', async () => {
    const { engine, client, first, uri, input } = await trained();
    await client.setTtl(uri(4), 1);
    await client.close();
    // The newest state of a run that is not closed stays.
    await engine.driver.post(`sessions/${first.model.sessionId}/finish`, { reason: { type: 'success' } });
    await new Promise((resolve) => setTimeout(resolve, 1100));

    const opened = await open({ url: engine.driver.url, input });

    expect(opened).toMatchObject({ model: { baseStep: 2 } });
  });

  test('damaged, both of them, so that the run starts again', async () => {
    const { engine, client, first, input } = await trained();
    await client.close();
    for (const step of [2, 4])
      writeFileSync(path.join(weights(engine, first.model.modelId, step), 'weights.safetensors'), 'x');

    const opened = await open({ url: engine.driver.url, input });

    expect(opened).toMatchObject({ stepsToReplay: 6, model: { baseStep: 0 } });
    expect(opened.position.collectedThrough).toBe(-1);
    expect(opened.remarks).toEqual([
      expect.stringContaining('000004 (step 4)'),
      expect.stringContaining('000002 (step 2)'),
    ]);
  });

  test('and the one the run was started from as well: it fails and says what to do', async () => {
    const { engine, client, uri, input } = await trained();
    for (const step of [2, 4]) await client.deleteCheckpoint(uri(step));
    await client.close();

    const opening = open({ url: engine.driver.url, initialPath: uri(2), input });

    await expect(opening).rejects.toMatchObject({
      code: 'checkpoint-missing',
      retryable: false,
      message: expect.stringMatching(/^initialCheckpoint: .*000002.* Start a new run from/) as string,
    });
  });
});

describe('a refusal that is not the fault of a checkpoint', () => {
  async function refusing(detail: string, { status = 400, isAlive = true } = {}): Promise<ScriptedServer> {
    const server = await startScriptedServer();
    servers.push(server);
    server.on('POST client/config', { json: {} });
    server.on('GET get_server_capabilities', { json: { supported_models: [{ model_name: BASE_MODEL }] } });
    server.on('POST create_session', { json: { session_id: 's' } });
    server.on('POST session_heartbeat', isAlive ? { json: {} } : { status: 410, json: { detail: 'ended' } });
    server.on('POST load_weights', { status, json: { detail } });
    await journal({ checkpoints: [{ step: 4, path: 'tinker://m/weights/000004' }] });
    return server;
  }

  const attempt = (server: ScriptedServer) =>
    open({ url: server.url, profile: 'tinker', input: { collectedThrough: 6 } });

  test.each([
    ['too many adapters is waited for', 'Maximum number of LoRA adapters (4) reached', 'engine-busy', true],
    ['too many models is waited for', 'Too many models are loaded', 'engine-busy', true],
    ['a bad request ends the run', 'rank 4 is not supported', 'request-failed', false],
    ['a model it does not have ends the run', 'Unknown base model fake/unigram', 'unknown-model', false],
  ])('%s', async (_, detail, code, retryable) => {
    const server = await refusing(detail);

    await expect(attempt(server)).rejects.toMatchObject({
      code,
      retryable,
      message: expect.stringContaining(detail) as string,
    });
    expect(server.requestsTo('POST create_model')).toEqual([]);
    expect(server.requestsTo('POST sessions/s/finish')).toHaveLength(1);
  });

  test('a session that is gone is tried again', async () => {
    const server = await refusing('Session s not found', { status: 404, isAlive: false });

    await expect(attempt(server)).rejects.toMatchObject({ code: 'engine-busy', retryable: true });
  });

  test('"not found" and no more means the checkpoint, if the session is there', async () => {
    const server = await refusing('nothing here', { status: 404 });
    server.on('POST create_model', { json: { request_id: '1' } });
    server.on('POST retrieve_future', { json: { model_id: 'm', type: 'create_model' } });

    const opened = await attempt(server);

    expect(opened.remarks).toHaveLength(1);
    expect(opened.position.collectedThrough).toBe(-1);
  });

  test('no capacity is handed to the run after a moment', async () => {
    const server = await refusing('');
    server.on('POST load_weights', { json: { request_id: '1' } });
    server.on('POST retrieve_future', {
      json: { type: 'try_again', request_id: '1', queue_state: 'paused_capacity' },
    });

    await expect(attempt(server)).rejects.toMatchObject({
      code: 'engine-busy',
      message: expect.stringContaining('paused_capacity') as string,
    });
    expect(server.requestsTo('POST sessions/s/finish')).toHaveLength(1);
  });
});

describe('where one model is allowed', () => {
  test('the next life has room, because the one before it was ended', async () => {
    const engine = await startEngine({ profile: { maxModels: 1 } });
    const first = await open({ url: engine.driver.url });

    const second = await open({ url: engine.driver.url, input: { previous: first.model } });

    expect(second.model.modelId).not.toBe(first.model.modelId);
  });

  test('what a dead attempt left is ended, and nothing of another run', async () => {
    const engine = await startEngine({ profile: { maxModels: 2 } });
    const metadata = { run: RUN, workflow: 'another', epoch: '1' };
    const other = await engine.driver.post('create_session', { tags: [], user_metadata: metadata });
    await engine.driver.createModel(other.body.session_id);
    const orphan = await open({ url: engine.driver.url, epoch: 1 });

    const second = open({ url: engine.driver.url, epoch: 2 });
    await expect(second).rejects.toMatchObject({ code: 'engine-busy', retryable: true });
    const third = await open({ url: engine.driver.url, epoch: 3 });
    const zombie = open({ url: engine.driver.url, epoch: 2 });
    await expect(zombie).rejects.toMatchObject({ code: 'engine-busy' });

    const alive = async (session: string) =>
      (await engine.driver.post('session_heartbeat', { session_id: session })).status;
    expect(await alive(orphan.model.sessionId)).toBe(410);
    expect(await alive(third.model.sessionId)).toBe(200);
    expect(await alive(other.body.session_id)).toBe(200);
  });
});
