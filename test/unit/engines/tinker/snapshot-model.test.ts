import type { Datum } from '../../../../src/core/datum';
import type { TinkerClient } from '../../../../src/engines/tinker/client';
import { createTinkerClient } from '../../../../src/engines/tinker/client';
import { KNOWN_PROFILES } from '../../../../src/engines/tinker/profile';
import type { ScriptedServer } from './scripted-server';
import { startScriptedServer } from './scripted-server';

/** A server that copies a snapshot into the model that wrote it when it is sampled, as SkyRL does. */
let server: ScriptedServer;
let client: TinkerClient;

const SNAPSHOT = 'tinker://model_1/000010';
const REQUEST = {
  prompt: [1, 2],
  numSamples: 1,
  params: { maxTokens: 1, temperature: 0, topK: -1, topP: 1 },
};
const RESULTS: Readonly<Record<string, unknown>> = {
  create_model: { model_id: 'model_2' },
  optim_step: { metrics: {} },
  load_weights: { type: 'load_weights' },
  unload_model: { model_id: 'model_2' },
  save_weights: { path: 'tinker://model_1/weights/x' },
  save_weights_for_sampler: { path: 'tinker://model_2/snapshot' },
  asample: { sequences: [{ stop_reason: 'stop', tokens: [7], logprobs: [-0.5] }] },
};
const FAILED = { status: 400, json: { detail: 'no space left on device' } };

beforeEach(async () => {
  server = await startScriptedServer();
  const profile = KNOWN_PROFILES.skyrl;
  client = createTinkerClient({ baseUrl: server.url, apiKey: 'tml-x', retryDelayMs: 1, profile });
  for (const route of Object.keys(RESULTS)) server.on(`POST ${route}`, { json: { request_id: route } });
  server.on('POST retrieve_future', ({ json }) => ({ json: RESULTS[String(json['request_id'])] }));
  server.on('POST create_session', { json: { session_id: 's1' } });
  server.on('POST create_sampling_session', { json: { sampling_session_id: 'ss1' } });
  server.on('POST weights_info', { json: { base_model: 'base', is_lora: true, lora_rank: 4 } });
});

afterEach(async () => {
  await client.close();
  await server.close();
});

function routesSeen(): string[] {
  return server.seen
    .filter(({ method, path }) => method === 'POST' && !/client\/config|retrieve_future/.test(path))
    .map(({ path }) => path.replace('/api/v1/', ''));
}

describe('saving for sampling', () => {
  test('saves the state first, under a name of its own', async () => {
    await client.submitSaveWeightsForSampler({ modelId: 'model_1', seqId: 5, name: '000010' });

    expect(routesSeen()).toEqual(['save_weights', 'save_weights_for_sampler']);
    expect(server.requestsTo('POST save_weights')[0]?.json).toMatchObject({
      model_id: 'model_1',
      path: '000010-state',
    });
    expect(server.requestsTo('POST save_weights_for_sampler')[0]?.json).toMatchObject({ path: '000010' });
  });
});

describe('sampling a snapshot', () => {
  test('happens in a model of its own, which is unloaded in the end', async () => {
    const sampler = client.createSampler({ modelPath: SNAPSHOT });

    const result = await sampler.sample(REQUEST);
    await sampler.sample(REQUEST);
    await sampler.close();

    expect(result.sequences[0]?.tokens).toEqual([7]);
    expect(routesSeen()).toEqual([
      'create_session',
      'weights_info',
      'create_model',
      'load_weights',
      'save_weights_for_sampler',
      'create_sampling_session',
      'asample',
      'asample',
      'unload_model',
      'sessions/s1/finish',
    ]);
    expect(server.requestsTo('POST create_model')[0]?.json).toMatchObject({
      base_model: 'base',
      lora_config: { rank: 4 },
    });
    expect(server.requestsTo('POST load_weights')[0]?.json).toMatchObject({
      model_id: 'model_2',
      path: 'tinker://model_1/weights/000010-state',
    });
    expect(server.requestsTo('POST create_sampling_session')[0]?.json).toMatchObject({
      model_path: 'tinker://model_2/snapshot',
    });
    expect(server.requestsTo('POST unload_model')[0]?.json).toMatchObject({ model_id: 'model_2' });
  });

  test('takes a training checkpoint as well', async () => {
    const sampler = client.createSampler({ modelPath: 'tinker://model_1/weights/000020' });

    await sampler.sample(REQUEST);
    await sampler.close();

    const path = 'tinker://model_1/weights/000020';
    expect(server.requestsTo('POST weights_info')[0]?.json).toEqual({ tinker_path: path });
    expect(server.requestsTo('POST load_weights')[0]?.json).toMatchObject({ path });
  });

  test('is refused where no state is beside it, because training would go on from the snapshot', async () => {
    server.on('POST weights_info', { status: 404, json: { detail: 'Checkpoint not found: model_1/000010' } });
    const sampler = client.createSampler({ modelPath: SNAPSHOT });

    await expect(sampler.sample(REQUEST)).rejects.toMatchObject({
      code: 'checkpoint-missing',
      message: expect.stringMatching(/cannot be sampled.*training checkpoint/) as unknown,
    });
    await sampler.close();

    expect(routesSeen()).not.toContain('asample');
  });

  test('leaves no model behind when it cannot be prepared', async () => {
    server.on('POST retrieve_future', ({ json }) => {
      const route = String(json['request_id']);
      return route === 'save_weights_for_sampler' ? FAILED : { json: RESULTS[route] };
    });
    const sampler = client.createSampler({ modelPath: SNAPSHOT });

    await expect(sampler.sample(REQUEST)).rejects.toMatchObject({ code: 'request-failed' });

    expect(server.requestsTo('POST unload_model').map(({ json }) => json['model_id'])).toEqual(['model_2']);
    expect(routesSeen()).not.toContain('asample');
  });

  test('of a base model needs none', async () => {
    const sampler = client.createSampler({ baseModel: 'base' });

    await sampler.sample(REQUEST);

    expect(routesSeen()).toEqual(['create_session', 'create_sampling_session', 'asample']);
  });
});

describe('opening a model', () => {
  const SPEC = { sessionId: 's1', modelSeqId: 0, baseModel: 'base', lora: { rank: 4 } };

  test('clears what another left in its place by a step of a model that is thrown away', async () => {
    await client.createModelFromCheckpoint({ ...SPEC, path: SNAPSHOT, optimizer: true });

    expect(routesSeen()).toEqual([
      'create_model',
      'optim_step',
      'unload_model',
      'create_model',
      'load_weights',
    ]);
    expect(server.requestsTo('POST optim_step')[0]?.json).toMatchObject({
      adam_params: { learning_rate: 0 },
    });
  });

  test('unloads that model also when its step fails', async () => {
    server.on('POST optim_step', FAILED);

    await expect(client.createModel(SPEC)).rejects.toMatchObject({ code: 'request-failed' });

    expect(routesSeen()).toEqual(['create_model', 'optim_step', 'unload_model']);
  });
});

describe('what the server would leave out without a word is refused', () => {
  const ADAM = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, gradClipNorm: 1 };

  function batch(...weights: number[][]): Datum[] {
    return weights.map((row) => ({
      tokens: Int32Array.from(row.keys()),
      targetTokens: Int32Array.from(row.keys()),
      lossInputs: { weights: Float32Array.from(row) },
    }));
  }

  function submit(data: readonly Datum[]) {
    return client.submitForwardBackward({ modelId: 'm', seqId: 1, data, lossFn: 'cross_entropy' });
  }

  test('sequences that weigh differently', async () => {
    await expect(submit(batch([0, 1, 1], [0, 0, 1]))).rejects.toThrow(/lossReduction: mean/);

    expect(server.requestsTo('POST forward_backward')).toEqual([]);
  });

  test.each([
    ['that weigh the same but for rounding', batch([0, 0.1, 0.9], [0.333_333, 0.333_333, 0.333_333])],
    ['without any loss among them', batch([0, 0, 0], [0, 0, 1])],
    ['without any loss', batch([0, 0], [0, 0])],
  ])('but not sequences %s', async (_, data) => {
    server.on('POST forward_backward', { json: { request_id: 'r1' } });

    await expect(submit(data)).resolves.toEqual({ requestId: 'r1' });
  });

  test('gradient clipping', async () => {
    await expect(client.submitOptimStep({ modelId: 'm', seqId: 2, adam: ADAM })).rejects.toThrow(
      /gradClipNorm/,
    );

    expect(server.requestsTo('POST optim_step')).toEqual([]);
  });

  test('a checkpoint without its optimizer', async () => {
    const spec = { sessionId: 's1', modelSeqId: 0, baseModel: 'base', lora: { rank: 4 } };
    const opening = client.createModelFromCheckpoint({ ...spec, path: SNAPSHOT, optimizer: false });

    await expect(opening).rejects.toMatchObject({ code: 'engine-refused' });

    expect(server.requestsTo('POST create_model')).toEqual([]);
  });
});
