import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import type { AdamParams, Datum } from '../../src/core/datum';
import type { LocalEngine, LocalEngineOptions } from '../../src/engines/local/engine';
import { startLocalEngine } from '../../src/engines/local/engine';
import { createModelRuntime } from '../../src/engines/local/compute/create-model-runtime';
import type { ModelRuntime } from '../../src/engines/local/model-runtime';
import type { TinkerClient, TinkerClientOptions } from '../../src/engines/tinker/client';
import { createTinkerClient } from '../../src/engines/tinker/client';
import { mergeChunkResults, planChunks } from '../../src/engines/tinker/chunks';
import { CONTEXT_LENGTH, RANDOM_MODEL, writeRandomModel } from '../unit/engines/local/compute/random-model';

const ADAM: AdamParams = {
  learningRate: 0.02,
  beta1: 0.9,
  beta2: 0.95,
  eps: 1e-12,
  weightDecay: 0,
  gradClipNorm: 1,
};
const LORA = { rank: 4, seed: 7 };
const PROMPT = [5, 6, 7, 8];
const DATA: Datum[] = [0, 1, 2].map((offset) => ({
  tokens: Int32Array.from({ length: 12 }, (_, index) => 2 + ((index + offset) % 9)),
  targetTokens: Int32Array.from({ length: 12 }, (_, index) => 2 + ((index + offset + 1) % 9)),
  lossInputs: { weights: Float32Array.from({ length: 12 }, (_, index) => (index < 3 ? 0 : 1)) },
}));

let runtime: ModelRuntime;
let engine: LocalEngine;
let dataFolder: string;
const clients: TinkerClient[] = [];

function startEngine(options: Partial<LocalEngineOptions> = {}): Promise<LocalEngine> {
  return startLocalEngine({ port: 0, dataFolder, runtime, logger: pino({ level: 'silent' }), ...options });
}

/** Apart from any await, so that no test can overwrite what another began. */
function replaceEngine(next: LocalEngine): void {
  engine = next;
}

function connect(options: Partial<TinkerClientOptions> = {}): TinkerClient {
  const client = createTinkerClient({ baseUrl: engine.url, retryDelayMs: 10, ...options });
  clients.push(client);
  return client;
}

async function openModel(client: TinkerClient): Promise<string> {
  const sessionId = await client.createSession({ tags: ['contract'] });
  const { modelId } = await client.createModel({
    sessionId,
    modelSeqId: 0,
    baseModel: RANDOM_MODEL,
    lora: LORA,
  });
  return modelId;
}

/** Submits steps without waiting in between; each takes two numbers. */
async function submitSteps(client: TinkerClient, modelId: string, range: { first: number; count: number }) {
  const refs = [];
  for (let step = 0; step < range.count; step++) {
    const seqId = range.first + 2 * step;
    const forward = await client.submitForwardBackward({
      modelId,
      seqId,
      data: DATA,
      lossFn: 'cross_entropy',
    });
    const update = await client.submitOptimStep({ modelId, seqId: seqId + 1, adam: ADAM });
    refs.push({ forward, update });
  }
  return refs;
}

async function saveState(
  client: TinkerClient,
  spec: { modelId: string; seqId: number; name: string },
): Promise<string> {
  const { path: saved } = await client.collectSave(await client.submitSaveWeights(spec));
  return saved;
}

async function saveForSampler(
  client: TinkerClient,
  spec: { modelId: string; seqId: number; name: string },
): Promise<string> {
  const { path: saved } = await client.collectSave(await client.submitSaveWeightsForSampler(spec));
  return saved;
}

beforeAll(async () => {
  runtime = await createModelRuntime({
    threads: 1,
    modelsFolders: [writeRandomModel()],
    memoryMegabytes: 128,
  });
});

afterAll(() => runtime.close());

beforeEach(async () => {
  dataFolder = mkdtempSync(path.join(tmpdir(), 'everstep-contract-'));
  engine = await startEngine();
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await engine.close();
  rmSync(dataFolder, { recursive: true, force: true });
});

test('the engine introduces itself so that its profile needs no configuration', async () => {
  const profile = await connect().probeProfile({ baseModel: RANDOM_MODEL });

  expect(profile).toMatchObject({
    server: 'everstep',
    codec: 'protobuf',
    deduplicates: true,
    deterministic: true,
    maxSequenceLength: CONTEXT_LENGTH,
  });
});

test('training lowers the loss and the log-probs add up to it', async () => {
  const client = connect();
  const modelId = await openModel(client);

  const refs = await submitSteps(client, modelId, { first: 1, count: 4 });
  const results = await Promise.all(refs.map(({ forward }) => client.collectForwardBackward(forward)));

  const losses = results.map(({ metrics }) => metrics['loss:sum'] ?? Number.NaN);
  const [first] = results;
  const weighted = DATA.reduce(
    (total, { lossInputs }, index) =>
      total -
      Array.from(lossInputs['weights'] ?? new Float32Array()).reduce(
        (sum, weight, at) => sum + weight * (first?.logprobs[index]?.[at] ?? 0),
        0,
      ),
    0,
  );
  expect(losses[3]).toBeLessThan(losses[0] ?? 0);
  expect(losses[0]).toBeCloseTo(weighted, 3);
});

test('both codecs train the same weights, bit by bit', async () => {
  const digests = [];
  for (const codec of ['protobuf', 'json'] as const) {
    const client = connect({
      profile: {
        codec,
        deduplicates: true,
        readsWeights: true,
        restore: 'create-via-load',
        samplerPathForm: 'full',
      },
    });
    const modelId = await openModel(client);
    await submitSteps(client, modelId, { first: 1, count: 3 });
    const saved = await saveState(client, { modelId, seqId: 7, name: 'end' });
    digests.push(await client.weightsDigest(saved));
  }

  expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(digests[1]).toBe(digests[0]);
});

test('chunks merge to what one request would have answered', async () => {
  const client = connect();
  const modelId = await openModel(client);

  const whole = await client.collectForwardBackward(
    await client.submitForwardBackward({
      modelId,
      seqId: 1,
      data: DATA,
      lossFn: 'cross_entropy',
      forwardOnly: true,
    }),
  );
  const chunks = planChunks(DATA, { maxChunkDatums: 2, maxChunkBytes: 1e6 });
  const parts = [];
  for (const [index, data] of chunks.entries()) {
    const spec = { modelId, seqId: 2 + index, data, lossFn: 'cross_entropy', forwardOnly: true } as const;
    parts.push(await client.collectForwardBackward(await client.submitForwardBackward(spec)));
  }
  const merged = mergeChunkResults(parts);

  expect(chunks).toHaveLength(2);
  expect(merged.logprobs).toEqual(whole.logprobs);
  expect(merged.metrics['loss:sum']).toBeCloseTo(whole.metrics['loss:sum'] ?? Number.NaN, 4);
});

test('work that is resent by another process is done once and collected by anyone', async () => {
  const first = connect();
  const modelId = await openModel(first);
  const refs = await submitSteps(first, modelId, { first: 1, count: 2 });
  const second = connect();

  const again = await submitSteps(second, modelId, { first: 1, count: 2 });
  const one = await first.collectForwardBackward(refs[1]?.forward ?? { requestId: '' });
  const other = await second.collectForwardBackward(again[1]?.forward ?? { requestId: '' });
  const onceDigest = await second.weightsDigest(await saveState(second, { modelId, seqId: 5, name: 'end' }));

  const uninterrupted = await openModel(first);
  await submitSteps(first, uninterrupted, { first: 1, count: 2 });
  const expected = await first.weightsDigest(
    await saveState(first, { modelId: uninterrupted, seqId: 5, name: 'end' }),
  );
  expect(again).toEqual(refs);
  expect(other).toEqual(one);
  expect(onceDigest).toBe(expected);
});

test.each(['create-via-load', 'load'] as const)(
  'a restored model (%s) goes on exactly where the checkpoint was taken',
  async (restore) => {
    const client = connect({ profile: { restore, deduplicates: true } });
    const modelId = await openModel(client);
    await submitSteps(client, modelId, { first: 1, count: 1 });
    const checkpoint = await saveState(client, { modelId, seqId: 3, name: 'middle' });
    await submitSteps(client, modelId, { first: 4, count: 2 });
    const uninterrupted = await saveState(client, { modelId, seqId: 8, name: 'end' });

    const sessionId = await client.createSession();
    const restored = await client.createModelFromCheckpoint({
      sessionId,
      modelSeqId: 0,
      path: checkpoint,
      optimizer: true,
      baseModel: RANDOM_MODEL,
      lora: LORA,
    });
    const { nextSeqId } = restored;
    await submitSteps(client, restored.modelId, { first: nextSeqId, count: 2 });
    const resumed = await saveState(client, { modelId: restored.modelId, seqId: nextSeqId + 4, name: 'end' });

    expect(await client.weightsDigest(resumed)).toBe(await client.weightsDigest(uninterrupted));
    expect(await client.weightsDigest(checkpoint)).not.toBe(await client.weightsDigest(uninterrupted));
  },
);

test('a sampler draws the same from the same weights and seed, in both codecs', async () => {
  const client = connect();
  const modelId = await openModel(client);
  await submitSteps(client, modelId, { first: 1, count: 2 });
  const modelPath = await saveForSampler(client, { modelId, seqId: 5, name: 'snapshot' });
  const request = {
    prompt: PROMPT,
    numSamples: 3,
    params: { maxTokens: 6, temperature: 1, topK: -1, topP: 1, seed: 11, stop: [] },
    promptLogprobs: true,
  };

  const binary = await client.createSampler({ modelPath }).sample(request);
  const text = await connect({ profile: { codec: 'json' } })
    .createSampler({ modelPath })
    .sample(request);

  expect(binary.sequences.map(({ tokens }) => tokens.length)).toEqual([6, 6, 6]);
  expect(binary.promptLogprobs).toHaveLength(PROMPT.length);
  expect(binary.promptLogprobs?.[0]).toBeNull();
  expect(text).toEqual(binary);
});

test('scores beyond those of what was drawn arrive the same in both codecs', async () => {
  const rows = PROMPT.length - 1;
  const request = {
    prompt: PROMPT,
    numSamples: 2,
    params: { maxTokens: 3, temperature: 1, topK: -1, topP: 1, seed: 11, stop: [] },
    promptLogprobs: true,
    topPromptLogprobs: 4,
    topSampledLogprobs: 2,
    promptAlternatives: 3,
    promptTargets: {
      rowCount: rows,
      columnCount: 5,
      values: Int32Array.from(PROMPT.slice(1)),
      sparse: {
        rowStarts: Int32Array.from({ length: rows + 1 }, (_, row) => row),
        columns: new Int32Array(rows).fill(4),
      },
    },
  };

  const binary = await connect().createSampler({ baseModel: RANDOM_MODEL }).sample(request);
  const text = await connect({ profile: { codec: 'json' } })
    .createSampler({ baseModel: RANDOM_MODEL })
    .sample(request);

  expect(text).toEqual(binary);
  expect(binary.promptTargetLogprobs).toEqual({
    ...request.promptTargets,
    values: Float32Array.from(binary.promptLogprobs?.slice(1) ?? [], Number),
  });
  expect(binary.topPromptLogprobs?.tokens).toHaveLength(PROMPT.length * 4);
  expect(binary.promptAlternatives).toMatchObject({ width: 3 });
  expect(binary.promptAlternatives?.tokens).toHaveLength(rows * 3);
  expect(binary.sequences.map(({ topLogprobs }) => topLogprobs?.logprobs.length)).toEqual([6, 6]);
});

test('a base model can be sampled without training anything', async () => {
  const sampler = connect().createSampler({ baseModel: RANDOM_MODEL });
  const params = { maxTokens: 4, temperature: 0, topK: -1, topP: 1, stop: [] };

  const results = await Promise.all(
    Array.from({ length: 20 }, () => sampler.sample({ prompt: PROMPT, numSamples: 1, params })),
  );

  expect(new Set(results.map(({ sequences }) => JSON.stringify(sequences[0]?.tokens))).size).toBe(1);
  await sampler.close();
});

test('after the engine died models are lost, checkpoints are not, and samplers carry on', async () => {
  const client = connect();
  const modelId = await openModel(client);
  const [step] = await submitSteps(client, modelId, { first: 1, count: 1 });
  const checkpoint = await saveState(client, { modelId, seqId: 3, name: 'kept' });
  const modelPath = await saveForSampler(client, { modelId, seqId: 4, name: 'kept' });
  const sampler = client.createSampler({ modelPath });
  const request = {
    prompt: PROMPT,
    numSamples: 1,
    params: { maxTokens: 3, temperature: 0, topK: -1, topP: 1, stop: [] },
  };
  const before = await sampler.sample(request);

  const port = Number(new URL(engine.url).port);
  await engine.close();
  replaceEngine(await startEngine({ port }));

  await expect(client.collectOptimStep(step?.update ?? { requestId: '' })).rejects.toMatchObject({
    code: 'session-lost',
  });
  await expect(submitSteps(client, modelId, { first: 5, count: 1 })).rejects.toMatchObject({
    code: 'session-lost',
  });
  await expect(client.heartbeat(modelId.split(':')[0] ?? '')).rejects.toMatchObject({ code: 'session-lost' });
  expect(await sampler.sample(request)).toEqual(before);
  const sessionId = await client.createSession();
  const restored = await client.createModelFromCheckpoint({
    sessionId,
    modelSeqId: 0,
    path: checkpoint,
    optimizer: true,
    baseModel: RANDOM_MODEL,
    lora: LORA,
  });
  await expect(
    submitSteps(client, restored.modelId, { first: restored.nextSeqId, count: 1 }),
  ).resolves.toHaveLength(1);
});

test('a call made while the engine is away waits for it', async () => {
  const waits: (string | undefined)[] = [];
  const client = connect({ onWait: (waiting) => waits.push(waiting?.what) });
  await client.createSession();
  const port = Number(new URL(engine.url).port);
  await engine.close();

  const opening = client.createSession();
  await new Promise((resolve) => setTimeout(resolve, 100));
  replaceEngine(await startEngine({ port }));

  expect(await opening).toEqual(expect.any(String));
  expect(waits).toEqual(['connection', undefined]);
});

test('a finished session takes its models along', async () => {
  const client = connect();
  const modelId = await openModel(client);
  const sessionId = modelId.split(':')[0] ?? '';

  await client.heartbeat(sessionId);
  await client.finishSession(sessionId, 'success');

  await expect(client.heartbeat(sessionId)).rejects.toMatchObject({ code: 'session-lost' });
  await expect(submitSteps(client, modelId, { first: 1, count: 1 })).rejects.toMatchObject({
    code: 'session-lost',
  });
  await expect(client.unloadModel(modelId)).resolves.toBeUndefined();
});

test('a deleted checkpoint is missing, for training and for sampling', async () => {
  const client = connect();
  const modelId = await openModel(client);
  const state = await saveState(client, { modelId, seqId: 1, name: 'a' });
  const weights = await saveForSampler(client, { modelId, seqId: 2, name: 'b' });
  await client.setTtl(state, 3600);
  const listed = await client.listCheckpoints(modelId);

  for (const saved of [state, weights, state]) await client.deleteCheckpoint(saved);

  expect(listed.map(({ path: saved }) => saved).sort()).toEqual([weights, state].sort());
  expect(listed.find(({ path: saved }) => saved === state)?.expiresAt).toEqual(expect.any(String));
  expect(await client.listCheckpoints(modelId)).toEqual([]);
  const sessionId = await client.createSession();
  const spec = {
    sessionId,
    modelSeqId: 0,
    path: state,
    optimizer: true,
    baseModel: RANDOM_MODEL,
    lora: LORA,
  };
  await expect(client.createModelFromCheckpoint(spec)).rejects.toMatchObject({ code: 'checkpoint-missing' });
  await expect(client.weightsDigest(weights)).rejects.toMatchObject({ code: 'checkpoint-missing' });
  const params = { maxTokens: 1, temperature: 0, topK: -1, topP: 1 };
  await expect(
    client.createSampler({ modelPath: weights }).sample({ prompt: PROMPT, numSamples: 1, params }),
  ).rejects.toMatchObject({ code: 'checkpoint-missing' });
});

test('a request that the engine refuses says why and leaves the model usable', async () => {
  const client = connect({ profile: { maxSequenceLength: null } });
  const modelId = await openModel(client);
  const long = new Int32Array(CONTEXT_LENGTH + 1).fill(2);
  const data = [
    { tokens: long, targetTokens: long, lossInputs: { weights: new Float32Array(CONTEXT_LENGTH + 1) } },
  ];

  const refused = async () =>
    client.collectForwardBackward(
      await client.submitForwardBackward({ modelId, seqId: 1, data, lossFn: 'cross_entropy' }),
    );

  await expect(refused()).rejects.toMatchObject({ code: 'request-failed', category: 'user' });
  const [next] = await submitSteps(client, modelId, { first: 2, count: 1 });
  const result = await client.collectForwardBackward(next?.forward ?? { requestId: '' });
  expect(result.logprobs.length).toBeGreaterThan(0);
  expect(result.logprobs.every((row) => row.length > 0 && row.every(Number.isFinite))).toBe(true);
});

test('log-probs alone change nothing', async () => {
  const client = connect();
  const modelId = await openModel(client);
  const ask = async (seqId: number) =>
    client.collectForwardBackward(
      await client.submitForwardBackward({
        modelId,
        seqId,
        data: DATA,
        lossFn: 'cross_entropy',
        forwardOnly: true,
      }),
    );

  const first = await ask(1);
  await client.collectOptimStep(
    await client.submitOptimStep({ modelId, seqId: 2, adam: { ...ADAM, weightDecay: 0 } }),
  );

  expect((await ask(3)).logprobs).toEqual(first.logprobs);
});
