import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import type { Datum } from '../../src/core/datum';
import { createRandom } from '../../src/core/random';
import { createModelRuntime } from '../../src/engines/local/compute/create-model-runtime';
import type { LocalEngine } from '../../src/engines/local/engine';
import { startLocalEngine } from '../../src/engines/local/engine';
import type { ModelRuntime } from '../../src/engines/local/model-runtime';
import {
  decodeForwardBackwardOutput,
  encodeForwardBackwardRequest,
  forwardBackwardRequestToJson,
} from '../../src/engines/tinker/codec';
import { RANDOM_MODEL, VOCAB_SIZE, writeRandomModel } from '../unit/engines/local/compute/random-model';
import { EngineDriver } from '../unit/engines/local/server/engine-driver';

/** The protocol over the real arithmetic: what a run relies on, bit for bit. */

const modelsFolder = writeRandomModel();
const folders = [modelsFolder];
let runtime: ModelRuntime;
let engine: LocalEngine;
let driver: EngineDriver;
let dataFolder: string;

async function start(threads = 2): Promise<void> {
  runtime = await createModelRuntime({ threads, modelsFolders: [modelsFolder] });
  engine = await startLocalEngine({ port: 0, dataFolder, runtime, logger: pino({ enabled: false }) });
  driver = new EngineDriver(engine.url);
}

async function stop(): Promise<void> {
  await engine.close();
  await runtime.close();
}

beforeEach(async () => {
  dataFolder = mkdtempSync(path.join(tmpdir(), 'everstep-contract-'));
  folders.push(dataFolder);
  await start();
});

afterEach(stop);

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function batchOf(step: number, count = 6): Datum[] {
  const random = createRandom(1000 + step);
  const token = () => Math.floor(random() * VOCAB_SIZE);
  return Array.from({ length: count }, () => {
    const length = 4 + Math.floor(random() * 12);
    return {
      tokens: Int32Array.from({ length }, token),
      targetTokens: Int32Array.from({ length }, token),
      lossInputs: { weights: Float32Array.from({ length }, () => random()) },
    };
  });
}

function requestOf(modelId: string, seqId: number, data: readonly Datum[]) {
  return { modelId, seqId, data, lossFn: 'cross_entropy', lossFnConfig: {}, forwardOnly: false };
}

async function createModel(extra: object = {}): Promise<string> {
  return driver.createModel(await driver.openSession(), {
    base_model: RANDOM_MODEL,
    lora_config: { rank: 4, seed: 7 },
    ...extra,
  });
}

/** Steps from…to (1-based), pipelined; returns the losses. */
async function train(
  modelId: string,
  steps: { from: number; to: number; firstSequence: number },
): Promise<number[]> {
  const requestIds: string[] = [];
  let sequence = steps.firstSequence;
  for (let step = steps.from; step <= steps.to; step++) {
    const body = forwardBackwardRequestToJson(requestOf(modelId, sequence++, batchOf(step)));
    requestIds.push((await driver.post('forward_backward', body)).body.request_id);
    await driver.step(modelId, sequence++, 1e-2);
  }
  const replies = await Promise.all(requestIds.map((requestId) => driver.retrieve(requestId)));
  return replies.map(({ body }) => body.metrics['loss:sum'] ?? Number.NaN);
}

async function digestOfSaved(modelId: string, sequence: number): Promise<string> {
  const { body } = await driver.finish('save_weights', {
    model_id: modelId,
    seq_id: sequence,
    path: `at-${sequence}`,
  });
  const folder = path.join(
    dataFolder,
    'checkpoints',
    modelId.replaceAll(':', '_'),
    'weights',
    `at-${sequence}`,
  );
  expect(body.path).toBe(`tinker://${modelId}/weights/at-${sequence}`);
  const hash = createHash('sha256');
  for (const file of ['weights.safetensors', 'optimizer.safetensors'])
    hash.update(readFileSync(path.join(folder, file)));
  return hash.digest('hex');
}

test.each([
  ['an adapter', {}],
  ['all weights', { lora_config: null }],
])('training %s over a restarted engine ends in the bits of an undisturbed run', async (_, extra) => {
  const undisturbed = await createModel(extra);
  const losses = await train(undisturbed, { from: 1, to: 8, firstSequence: 1 });
  const expected = await digestOfSaved(undisturbed, 17);

  const first = await createModel(extra);
  await train(first, { from: 1, to: 4, firstSequence: 1 });
  await digestOfSaved(first, 9);
  await stop();
  await start(1);
  const load = {
    session_id: await driver.openSession(),
    model_seq_id: 0,
    path: `tinker://${first}/weights/at-9`,
    optimizer: true,
  };
  const second = (await driver.finish('load_weights', load)).body.model_id;
  const after = await train(second, { from: 5, to: 8, firstSequence: 1 });

  expect(after).toEqual(losses.slice(4));
  expect(await digestOfSaved(second, 9)).toBe(expected);
  expect((await driver.train(first, 10, 1)).status).toBe(404);
});

test('chunks that arrive in any order, in either codec, give the same bits', async () => {
  const inOrder = await createModel();
  const shuffled = await createModel();
  const chunks = [1, 2, 3].map((step) => batchOf(step));

  for (const [index, chunk] of chunks.entries()) {
    await driver.post('forward_backward', forwardBackwardRequestToJson(requestOf(inOrder, index + 1, chunk)));
  }
  await driver.step(shuffled, 4, 1e-2);
  for (const index of [2, 1, 0]) {
    const bytes = encodeForwardBackwardRequest(requestOf(shuffled, index + 1, chunks[index] ?? []));
    await driver.post('forward_backward', bytes, { 'content-type': 'application/x-protobuf' });
  }
  await driver.step(inOrder, 4, 1e-2);

  expect(await digestOfSaved(shuffled, 5)).toBe(await digestOfSaved(inOrder, 5));
});

test('resending everything changes nothing', async () => {
  const once = await createModel();
  await train(once, { from: 1, to: 3, firstSequence: 1 });
  const twice = await createModel();
  await train(twice, { from: 1, to: 3, firstSequence: 1 });
  await train(twice, { from: 1, to: 3, firstSequence: 1 });

  expect(await digestOfSaved(twice, 7)).toBe(await digestOfSaved(once, 7));
});

test('models trained at the same time do not disturb one another', async () => {
  const alone = await createModel();
  const losses = await train(alone, { from: 1, to: 5, firstSequence: 1 });

  const models = await Promise.all([createModel(), createModel(), createModel()]);
  const together = await Promise.all(models.map((id) => train(id, { from: 1, to: 5, firstSequence: 1 })));

  expect(together).toEqual([losses, losses, losses]);
});

test('both codecs carry the same result', async () => {
  const model = await createModel();
  const { body } = await driver.post(
    'forward_backward',
    forwardBackwardRequestToJson(requestOf(model, 1, batchOf(1))),
  );

  const json = await driver.retrieve(body.request_id);
  const binary = decodeForwardBackwardOutput(
    (await driver.retrieve(body.request_id, { accept: 'application/x-protobuf' })).bytes,
  );

  expect(json.body.metrics).toEqual(binary.metrics);
  expect(json.body.loss_fn_outputs.map(({ logprobs }) => Float32Array.from(logprobs.data))).toEqual(
    binary.logprobs,
  );
});

test('a bad datum fails its own request and leaves the gradients as they were', async () => {
  const clean = await createModel();
  await train(clean, { from: 1, to: 1, firstSequence: 1 });
  const disturbed = await createModel();
  await driver.post('forward_backward', forwardBackwardRequestToJson(requestOf(disturbed, 1, batchOf(1))));
  const [good] = batchOf(2);
  const bad = {
    ...(good as Datum),
    targetTokens: Int32Array.from(good?.targetTokens ?? [], () => VOCAB_SIZE),
  };

  const failed = await driver.finish(
    'forward_backward',
    forwardBackwardRequestToJson(requestOf(disturbed, 2, [good as Datum, bad])),
  );
  await driver.step(disturbed, 3, 1e-2);

  expect(failed.body.category).toBe('user');
  expect(await digestOfSaved(disturbed, 4)).toBe(await digestOfSaved(clean, 3));
});

test('what is drawn depends on weights and seed alone', async () => {
  const model = await createModel();
  await train(model, { from: 1, to: 3, firstSequence: 1 });
  const saved = await driver.finish('save_weights_for_sampler', { model_id: model, seq_id: 7, path: 'w' });
  const session = await driver.openSession();
  const open = async (sequence: number) =>
    (
      await driver.post('create_sampling_session', {
        session_id: session,
        sampling_session_seq_id: sequence,
        model_path: saved.body.path,
      })
    ).body.sampling_session_id;
  const ask = (samplingSession: string, seed: number) => ({
    sampling_session_id: samplingSession,
    seq_id: seed,
    num_samples: 3,
    prompt: { chunks: [{ type: 'encoded_text', tokens: [3, 4, 5] }] },
    sampling_params: { max_tokens: 12, temperature: 1, top_p: 0.95, seed },
    prompt_logprobs: true,
  });
  const [quiet, busy] = [await open(0), await open(1)];

  const alone = await driver.finish('asample', ask(quiet, 5));
  const crowd = await Promise.all([9, 5, 8, 7].map((seed) => driver.finish('asample', ask(busy, seed))));

  expect(crowd[1]?.body).toEqual(alone.body);
  expect(crowd[0]?.body.sequences).not.toEqual(alone.body.sequences);
  expect(alone.body.prompt_logprobs).toEqual([null, expect.any(Number), expect.any(Number)]);
  expect(new Set(alone.body.sequences.map(({ tokens }) => tokens.join())).size).toBeGreaterThan(1);
});
