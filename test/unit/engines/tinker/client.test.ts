import type { Datum } from '../../../../src/core/datum';
import {
  decodeForwardBackwardRequest,
  encodeForwardBackwardOutput,
} from '../../../../src/engines/tinker/codec';
import type { TinkerClient, TinkerClientOptions } from '../../../../src/engines/tinker/client';
import { createTinkerClient } from '../../../../src/engines/tinker/client';
import { KNOWN_PROFILES } from '../../../../src/engines/tinker/profile';
import type { Waiting } from '../../../../src/engines/tinker/waiting';
import type { ScriptedServer } from './scripted-server';
import { startScriptedServer } from './scripted-server';

const EVERSTEP = {
  everstep_engine: { version: '0.1.0', deduplicates: true, deterministic: true, counts_applied_steps: true },
};
const MODELS = {
  supported_models: [{ model_name: 'everstep/tiny', max_context_length: 64, trainable: true }],
};
const ADAM = { learningRate: 0.01, beta1: 0.9, beta2: 0.95, eps: 1e-12, weightDecay: 0, gradClipNorm: 0 };
const DATUM: Datum = {
  tokens: Int32Array.of(1, 2, 3),
  targetTokens: Int32Array.of(2, 3, 4),
  lossInputs: { weights: Float32Array.of(0, 1, 1) },
};
const FORWARD_BACKWARD = { modelId: 'm', seqId: 1, data: [DATUM], lossFn: 'cross_entropy' } as const;
const REF = { requestId: 'r1' };

let server: ScriptedServer;
let waits: (Waiting | null)[];
const clients: TinkerClient[] = [];

function connect(options: Partial<TinkerClientOptions> = {}): TinkerClient {
  const client = createTinkerClient({
    baseUrl: server.url,
    apiKey: 'tml-secret',
    retryDelayMs: 1,
    onWait: (waiting) => waits.push(waiting),
    ...options,
  });
  clients.push(client);
  return client;
}

beforeEach(async () => {
  waits = [];
  server = await startScriptedServer();
  server.on('POST client/config', { json: EVERSTEP });
  server.on('GET get_server_capabilities', { json: MODELS });
  for (const route of ['forward_backward', 'forward', 'optim_step', 'save_weights', 'asample']) {
    server.on(`POST ${route}`, { json: { request_id: 'r1' } });
  }
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await server.close();
});

describe('profiles', () => {
  test('of our own engine come from how it introduces itself', async () => {
    expect(await connect().probeProfile()).toEqual({ ...KNOWN_PROFILES.everstep, maxSequenceLength: 64 });
  });

  test('of a server without introduction are the cautious ones', async () => {
    server.on('POST client/config', { json: { pjwt_auth_enabled: false, fwdbwd_max_chunk_len: 16 } });
    server.on('GET get_server_capabilities', { json: { supported_models: [{ model_name: 'x' }] } });

    expect(await connect().profile()).toEqual({ ...KNOWN_PROFILES.skyrl, maxChunkDatums: 16 });
  });

  test('have the context length of the model that is asked about, and else of the longest', async () => {
    const models = [
      { model_name: 'short', max_context_length: 16 },
      { model_name: 'long', max_context_length: 64 },
    ];
    server.on('GET get_server_capabilities', { json: { supported_models: models } });
    const client = connect();

    expect((await client.probeProfile({ baseModel: 'short' })).maxSequenceLength).toBe(16);
    expect((await client.probeProfile()).maxSequenceLength).toBe(64);
    server.on('GET get_server_capabilities', {
      json: { supported_models: [...models, { model_name: 'unsaid' }] },
    });
    expect((await client.probeProfile()).maxSequenceLength).toBeNull();
  });

  test('said in the options take precedence', async () => {
    const profile = await connect({ profile: { codec: 'json', maxSequenceLength: 8 } }).profile();

    expect(profile).toMatchObject({ server: 'everstep', codec: 'json', maxSequenceLength: 8 });
  });

  test('survive a server that has neither route', async () => {
    server.on('POST client/config', { status: 404, json: { detail: 'Not Found' } });
    server.on('GET get_server_capabilities', { status: 404, json: { detail: 'Not Found' } });

    expect(await connect().profile()).toEqual(KNOWN_PROFILES.skyrl);
  });
});

describe('requests', () => {
  test('carry the key, and forward_backward is protobuf where the server reads it', async () => {
    const ref = await connect().submitForwardBackward(FORWARD_BACKWARD);

    const [request] = server.requestsTo('POST forward_backward');
    expect(ref).toEqual(REF);
    expect(request?.headers).toMatchObject({
      'x-api-key': 'tml-secret',
      'content-type': 'application/x-protobuf',
    });
    expect(decodeForwardBackwardRequest(request?.raw ?? Buffer.alloc(0))).toMatchObject({
      modelId: 'm',
      seqId: 1,
      data: [DATUM],
    });
  });

  test('are the same bytes when made again', async () => {
    const client = connect();

    await client.submitForwardBackward(FORWARD_BACKWARD);
    await client.submitForwardBackward(FORWARD_BACKWARD);

    const [first, second] = server.requestsTo('POST forward_backward');
    expect(first?.raw.equals(second?.raw ?? Buffer.alloc(0))).toBe(true);
  });

  test('in JSON use the route for log-probs alone', async () => {
    await connect({ profile: { codec: 'json' } }).submitForwardBackward({
      ...FORWARD_BACKWARD,
      forwardOnly: true,
    });

    expect(server.requestsTo('POST forward')[0]?.json).toMatchObject({
      model_id: 'm',
      forward_input: { loss_fn: 'cross_entropy' },
    });
  });

  test('say clip thresholds, for which servers have different defaults', async () => {
    const lossInputs = { logprobs: Float32Array.of(0, 0, 0), advantages: Float32Array.of(0, 1, 1) };
    await connect({ profile: { codec: 'json' } }).submitForwardBackward({
      ...FORWARD_BACKWARD,
      data: [{ ...DATUM, lossInputs }],
      lossFn: 'cispo',
      lossFnConfig: { clip_high_threshold: 5 },
    });

    expect(server.requestsTo('POST forward_backward')[0]?.json).toMatchObject({
      forward_backward_input: { loss_fn_config: { clip_low_threshold: 0, clip_high_threshold: 5 } },
    });
  });

  test('of optim_step use the protocol names', async () => {
    await connect().submitOptimStep({ modelId: 'm', seqId: 2, adam: ADAM });

    expect(server.requestsTo('POST optim_step')[0]?.json).toEqual({
      adam_params: {
        learning_rate: 0.01,
        beta1: 0.9,
        beta2: 0.95,
        eps: 1e-12,
        weight_decay: 0,
        grad_clip_norm: 0,
      },
      model_id: 'm',
      seq_id: 2,
      type: 'optim_step',
    });
  });

  test.each([
    ['a batch without data', { data: [] }, /batch is empty/],
    ['a policy loss without advantages', { lossFn: 'ppo' as const }, /no logprobs, which ppo needs/],
    [
      'a sequence beyond the limit',
      { data: [{ tokens: new Int32Array(65), targetTokens: new Int32Array(65), lossInputs: {} }] },
      /65 tokens.*at most 64.*lower maxLength/,
    ],
  ])('are refused before they are sent: %s', async (_, change, message) => {
    const submitting = connect().submitForwardBackward({ ...FORWARD_BACKWARD, ...change });

    await expect(submitting).rejects.toMatchObject({
      code: 'request-failed',
      category: 'user',
      retryable: false,
    });
    await expect(submitting).rejects.toThrow(message);
    expect(server.requestsTo('POST forward_backward')).toHaveLength(0);
  });
});

describe('a promise', () => {
  const logprobs = [Float32Array.of(-1, -2, -3)];

  test('kept in protobuf is decoded by its content type', async () => {
    server.on('POST retrieve_future', {
      bytes: encodeForwardBackwardOutput({ logprobs, metrics: { 'loss:sum': 5 } }),
    });

    expect(await connect().collectForwardBackward(REF)).toEqual({ logprobs, metrics: { 'loss:sum': 5 } });
    expect(server.requestsTo('POST retrieve_future')[0]?.headers['accept']).toMatch(
      /^application\/x-protobuf/,
    );
  });

  test('kept in JSON is read too', async () => {
    server.on('POST retrieve_future', {
      json: { loss_fn_outputs: [{ logprobs: { data: [-1, -2, -3] } }], metrics: {} },
    });

    expect(await connect().collectForwardBackward(REF)).toEqual({ logprobs, metrics: {} });
  });

  test.each([
    ['200 try_again', { json: { type: 'try_again', request_id: 'r1', queue_state: 'paused_capacity' } }],
    ['408', { status: 408, json: { type: 'try_again', request_id: 'r1', queue_state: 'paused_capacity' } }],
  ])('that is pending (%s) is asked for again and the pause reported', async (_, pending) => {
    server.on('POST retrieve_future', [pending, pending, { json: { metrics: { lr: 0.01 } } }]);

    expect(await connect().collectOptimStep(REF)).toEqual({ lr: 0.01 });
    expect(waits).toEqual([{ what: 'queue', queueState: 'paused_capacity' }, null]);
  });

  test('that is merely being worked on is no pause', async () => {
    server.on('POST retrieve_future', [
      { status: 408, json: { type: 'try_again', queue_state: 'active' } },
      { json: { metrics: {} } },
    ]);

    await connect().collectOptimStep(REF);

    expect(waits).toEqual([]);
  });

  test('announced by its size is fetched whole', async () => {
    server.on('POST retrieve_future', ({ json }) => ({
      json:
        json['allow_metadata_only'] === true
          ? { status: 'complete_metadata', response_payload_size: 99 }
          : { metrics: { a: 1 } },
    }));

    expect(await connect().collectOptimStep(REF)).toEqual({ a: 1 });
    expect(server.requestsTo('POST retrieve_future')).toHaveLength(2);
  });

  test('that failed carries whose fault it was', async () => {
    server.on('POST retrieve_future', { json: { error: 'target_tokens length 3 != 2', category: 'user' } });

    const collecting = connect().collectForwardBackward(REF);

    await expect(collecting).rejects.toMatchObject({
      code: 'request-failed',
      category: 'user',
      retryable: false,
    });
    await expect(collecting).rejects.toThrow('target_tokens length 3 != 2');
  });

  test('that failed in the manner of SkyRL (400) is a failed request', async () => {
    server.on('POST retrieve_future', {
      status: 400,
      json: { detail: 'Maximum number of LoRA adapters (4) reached' },
    });

    await expect(connect().collectOptimStep(REF)).rejects.toMatchObject({
      code: 'request-failed',
      category: 'unknown',
    });
    expect(server.requestsTo('POST retrieve_future')).toHaveLength(1);
  });

  test.each([
    ['410', { status: 410, json: { detail: 'promise expired' } }],
    ['404', { status: 404, json: { detail: 'Future not found' } }],
    [
      '400 of a restarted server',
      { status: 400, json: { detail: 'Model m not loaded (likely stale request)' } },
    ],
  ])('that is lost (%s) means that the model is', async (_, answer) => {
    server.on('POST retrieve_future', answer);

    await expect(connect().collectOptimStep(REF)).rejects.toMatchObject({
      code: 'session-lost',
      retryable: false,
    });
  });

  test.each([[402], [429], [500], [503]])('outlives a passing %i', async (status) => {
    server.on('POST retrieve_future', [
      { status, json: { detail: 'later' }, headers: { 'retry-after-ms': '1' } },
      { json: { metrics: { a: 1 } } },
    ]);

    expect(await connect().collectOptimStep(REF)).toEqual({ a: 1 });
    expect(waits.at(0)?.what).toBe({ 402: 'billing', 429: 'rate-limit' }[status] ?? 'server-error');
    expect(waits.at(-1)).toBeNull();
  });

  test('outlives a broken connection', async () => {
    server.on('POST retrieve_future', [{ breakOff: true }, { json: { metrics: { a: 1 } } }]);

    expect(await connect().collectOptimStep(REF)).toEqual({ a: 1 });
  });

  test('is given up as soon as the caller no longer wants it', async () => {
    server.on('POST retrieve_future', {
      status: 408,
      json: { type: 'try_again', queue_state: 'paused_capacity' },
    });
    const abort = new AbortController();
    const collecting = connect({
      onWait: () => {
        abort.abort(new Error('enough'));
      },
    }).collectOptimStep(REF, {
      signal: abort.signal,
    });

    await expect(collecting).rejects.toThrow('enough');
  });

  test('of a save gives its path', async () => {
    server.on('POST retrieve_future', { json: { path: 'tinker://m/weights/a', type: 'save_weights' } });

    expect(await connect().collectSave(REF)).toEqual({ path: 'tinker://m/weights/a' });
  });
});

describe('trouble on the way', () => {
  test('a resend is safe where the server recognises it', async () => {
    server.on('POST optim_step', [{ breakOff: true }, { json: { request_id: 'r1' } }]);

    expect(await connect().submitOptimStep({ modelId: 'm', seqId: 2, adam: ADAM })).toEqual(REF);
  });

  test.each([
    ['a broken connection', { breakOff: true }],
    ['a 502', { status: 502 }],
  ])('after %s nothing is sent twice to a server that would train twice', async (_, answer) => {
    server.on('POST optim_step', answer);

    const submitting = connect({ profile: { deduplicates: false } }).submitOptimStep({
      modelId: 'm',
      seqId: 2,
      adam: ADAM,
    });

    await expect(submitting).rejects.toMatchObject({ code: 'session-lost' });
    expect(server.requestsTo('POST optim_step')).toHaveLength(1);
  });

  test('a refusal before any work is waited out even there', async () => {
    server.on('POST optim_step', [
      { status: 429, json: {} },
      { status: 503, json: {} },
      { json: { request_id: 'r1' } },
    ]);

    await connect({ profile: { deduplicates: false } }).submitOptimStep({
      modelId: 'm',
      seqId: 2,
      adam: ADAM,
    });

    expect(server.requestsTo('POST optim_step')).toHaveLength(3);
  });

  test('a server that stays away is unreachable, which is worth another attempt', async () => {
    const { url } = server;
    await server.close();
    const client = connect({ baseUrl: url, unreachableAfterMs: 50 });

    const asking = client.createSession();

    await expect(asking).rejects.toMatchObject({ code: 'unreachable', retryable: true });
    await expect(asking).rejects.toThrow(/Check that it is up/);
  });

  test('a closed client breaks off at once what it was waiting for', async () => {
    server.on('POST retrieve_future', () => new Promise(() => undefined));
    const client = connect();
    const collecting = client.collectOptimStep(REF);
    const rejected = expect(collecting).rejects.toMatchObject({ code: 'UND_ERR_DESTROYED' });
    while (server.requestsTo('POST retrieve_future').length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));

    await client.close();

    await rejected;
  });

  test('a refused key names the variable and not the key', async () => {
    server.on('POST create_session', { status: 401, json: { detail: 'invalid key tml-secret' } });

    const asking = connect().createSession();

    await expect(asking).rejects.toMatchObject({ code: 'unauthorized', retryable: false });
    await expect(asking).rejects.toThrow('TINKER_API_KEY');
    await expect(asking).rejects.not.toThrow('tml-secret');
  });

  test('a lasting conflict ends after a few attempts', async () => {
    server.on('POST save_weights', { status: 409, json: { detail: "Checkpoint 'a' already exists" } });

    const saving = connect().submitSaveWeights({ modelId: 'm', seqId: 3, name: 'a' });

    await expect(saving).rejects.toMatchObject({ code: 'request-failed' });
    expect(server.requestsTo('POST save_weights')).toHaveLength(4);
  });

  test.each([[404], [410]])('a heartbeat of a lost session (%i) says so', async (status) => {
    server.on('POST session_heartbeat', { status, json: { detail: 'Session not found' } });

    await expect(connect().heartbeat('s')).rejects.toMatchObject({ code: 'session-lost' });
  });

  test('a server without heartbeats is left alone', async () => {
    await expect(connect().heartbeat('s')).resolves.toBeUndefined();
    await expect(connect().finishSession('s', 'success')).resolves.toBeUndefined();
  });

  test('field errors are told with their place', async () => {
    const detail = [{ type: 'x', loc: ['body', 'adam_params', 'learning_rate'], msg: 'must be positive' }];
    server.on('POST optim_step', { status: 422, json: { detail } });

    const submitting = connect().submitOptimStep({ modelId: 'm', seqId: 2, adam: ADAM });

    await expect(submitting).rejects.toMatchObject({ code: 'request-failed', category: 'user' });
    await expect(submitting).rejects.toThrow('body.adam_params.learning_rate: must be positive');
  });

  test('an address that is no web address is refused at once', () => {
    expect(() => connect({ baseUrl: 'localhost:8000' })).toThrow(/not an http or https address/);
  });
});

describe('a token in exchange for the key', () => {
  const jwt = (name: string) =>
    `eyJ.${Buffer.from(JSON.stringify({ iat: 0, exp: 3600, name })).toString('base64url')}.x`;

  test('goes with every request, and is exchanged again when it is refused', async () => {
    server.on('POST client/config', { json: { pjwt_auth_enabled: true } });
    server.on('POST auth/token', [{ json: { jwt: jwt('first') } }, { json: { jwt: jwt('second') } }]);
    server.on('POST create_session', ({ headers }) =>
      headers['x-api-key'] === jwt('second')
        ? { json: { session_id: 's' } }
        : { status: 401, json: { detail: 'expired' } },
    );

    expect(await connect().createSession()).toBe('s');
    expect(server.requestsTo('POST auth/token').map(({ headers }) => headers['x-api-key'])).toEqual([
      'tml-secret',
      'tml-secret',
    ]);
  });
});

describe('models', () => {
  const spec = { sessionId: 's', modelSeqId: 0, baseModel: 'b', lora: { rank: 8, seed: 1 } };
  const restore = { ...spec, path: 'tinker://m/weights/a', optimizer: true };

  beforeEach(() => {
    server.on('POST create_model', { json: { request_id: 'create' } });
    server.on('POST load_weights', { json: { request_id: 'load' } });
    server.on('POST retrieve_future', ({ json }) => ({
      json: json['request_id'] === 'create' ? { model_id: 'fresh' } : { type: 'load_weights' },
    }));
  });

  test('are created with their adapter', async () => {
    expect(await connect().createModel(spec)).toEqual({ modelId: 'fresh' });
    expect(server.requestsTo('POST create_model')[0]?.json).toMatchObject({
      session_id: 's',
      model_seq_id: 0,
      base_model: 'b',
      lora_config: { rank: 8, seed: 1, train_unembed: true, train_mlp: true, train_attn: true },
    });
  });

  test('come back from a checkpoint in one request where the server can', async () => {
    expect(await connect().createModelFromCheckpoint(restore)).toEqual({
      modelId: 's:train:0',
      nextSeqId: 1,
    });
    expect(server.requestsTo('POST create_model')).toHaveLength(0);
  });

  test('come back from a checkpoint as the first request of a fresh model elsewhere', async () => {
    const client = connect({ profile: { restore: 'load' } });

    expect(await client.createModelFromCheckpoint(restore)).toEqual({ modelId: 'fresh', nextSeqId: 2 });
    expect(server.requestsTo('POST load_weights')[0]?.json).toMatchObject({
      model_id: 'fresh',
      seq_id: 1,
      optimizer: true,
    });
  });

  test('whose checkpoint is gone say so', async () => {
    server.on('POST load_weights', {
      status: 404,
      json: { detail: 'Checkpoint not found: tinker://m/weights/a' },
    });

    await expect(connect().createModelFromCheckpoint(restore)).rejects.toMatchObject({
      code: 'checkpoint-missing',
    });
  });

  test('that the server does not have are unknown', async () => {
    server.on('POST create_model', { status: 400, json: { detail: 'Unknown base model "b". Known: a.' } });

    const creating = connect().createModel(spec);

    await expect(creating).rejects.toMatchObject({ code: 'unknown-model' });
    await expect(creating).rejects.toThrow('Known: a');
  });

  test('that are gone already count as unloaded', async () => {
    server.on('POST unload_model', { status: 404, json: { detail: 'Model not found' } });

    await expect(connect().unloadModel('m')).resolves.toBeUndefined();
  });
});

describe('sampling', () => {
  const request = {
    prompt: [5, 6, 7],
    numSamples: 1,
    params: { maxTokens: 2, temperature: 0, topK: -1, topP: 1, stop: [] },
    promptLogprobs: true,
  };
  const sequences = [{ stop_reason: 'length', tokens: [1, 2], logprobs: [-1, -2] }];
  const spec = { samplingSessionId: 'x', request };

  test.each([
    ['official', [null, -0.5, -0.25]],
    ['without the first', [-0.5, -0.25]],
  ])('gives prompt log-probs as long as the prompt (%s)', async (_, promptLogprobs) => {
    server.on('POST retrieve_future', { json: { sequences, prompt_logprobs: promptLogprobs } });

    expect(await connect().sample(spec)).toEqual({
      sequences: [{ stopReason: 'length', tokens: [1, 2], logprobs: [-1, -2] }],
      promptLogprobs: [null, -0.5, -0.25],
    });
    expect(server.requestsTo('POST asample')[0]?.json).toMatchObject({
      seq_id: 1,
      sampling_params: { stop: [] },
    });
  });

  test('breaks off an answer that is longer than what was asked for can take', async () => {
    server.on('POST retrieve_future', { isEndless: true });
    const before = process.memoryUsage().arrayBuffers;

    await expect(connect().sample(spec)).rejects.toMatchObject({
      code: 'protocol-error',
      retryable: false,
      message: expect.stringMatching(
        /answer to \/api\/v1\/retrieve_future is longer than 1\.0 MiB/,
      ) as string,
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 2 ** 20);
    expect(server.requestsTo('POST retrieve_future')).toHaveLength(1);
  });

  test.each([
    [[1, 2, 3, 4], [-1, -2, -1, -1], '4 tokens in a sample where 2 at most were asked for'],
    [[1, -1], [-1, -2], '-1 for a token'],
    [[1, 2], [-1, 5], 'a log-probability of 5; none is above 0'],
  ])('refuses a sample that cannot be what was asked for: %j', async (tokens, logprobs, what) => {
    server.on('POST retrieve_future', { json: { sequences: [{ stop_reason: 'length', tokens, logprobs }] } });

    await expect(connect().sample(spec)).rejects.toMatchObject({
      code: 'protocol-error',
      message: `The training service sent ${what}.`,
    });
  });

  test('resends the same request after back-pressure', async () => {
    server.on('POST asample', [
      { status: 429, json: { detail: 'slow down' } },
      { json: { request_id: 'r1' } },
    ]);
    server.on('POST retrieve_future', { json: { sequences } });

    await connect().sample(spec);

    const [first, second] = server.requestsTo('POST asample');
    expect(second?.json).toEqual(first?.json);
  });

  test('asks again for a promise that the server lost', async () => {
    server.on('POST retrieve_future', [{ status: 410, json: { detail: 'gone' } }, { json: { sequences } }]);

    await connect().sample(spec);

    expect(server.requestsTo('POST asample').map(({ json }) => json['seq_id'])).toEqual([1, 1]);
  });

  test('that failed on the server is worth another attempt, a bad request is not', async () => {
    server.on('POST retrieve_future', [
      { json: { error: 'out of memory', category: 'server' } },
      { json: { error: 'max_tokens too large', category: 'user' } },
    ]);
    const client = connect();

    await expect(client.sample(spec)).rejects.toMatchObject({ code: 'request-failed', retryable: true });
    await expect(client.sample(spec)).rejects.toMatchObject({ code: 'request-failed', retryable: false });
  });

  test.each([
    ['while the request is under way', 'POST asample'],
    ['while the profile is asked for', 'GET get_server_capabilities'],
    ['while the result is waited for', 'POST retrieve_future'],
  ])('that nobody waits for is cancelled when its signal fires %s', async (_, route) => {
    const abort = new AbortController();
    const answers: Record<string, unknown> = {
      'POST asample': { request_id: 'r7' },
      'GET get_server_capabilities': MODELS,
      'POST retrieve_future': { sequences },
    };
    server.on('POST asample', { json: { request_id: 'r7' } });
    server.on(route, () => {
      abort.abort(new Error('left'));
      return { json: answers[route] };
    });
    server.on('POST cancel_future', { json: {} });

    const drawing = connect().sample({ ...spec, isCancelledWithSignal: true }, { signal: abort.signal });

    await expect(drawing).rejects.toThrow('left');
    expect(server.requestsTo('POST cancel_future').map(({ json }) => json['request_id'])).toEqual(['r7']);
  });

  describe('with a sampler', () => {
    beforeEach(() => {
      let sessionCount = 0;
      server.on('POST create_session', () => ({ json: { session_id: `session-${++sessionCount}` } }));
      server.on('POST create_sampling_session', ({ json }) => ({
        json: { sampling_session_id: `${String(json['session_id'])}:sample` },
      }));
      server.on('POST sessions/session-1/finish', { status: 204 });
      server.on('POST retrieve_future', { json: { sequences, prompt_logprobs: [null, -1, -2] } });
    });

    test('opens one session for concurrent samples and ends it when closed', async () => {
      const sampler = connect().createSampler({ modelPath: 'tinker://m/sampler_weights/a' });

      await Promise.all([sampler.sample(request), sampler.sample(request), sampler.sample(request)]);
      await sampler.close();

      expect(server.requestsTo('POST create_session')).toHaveLength(1);
      expect(server.requestsTo('POST create_sampling_session')[0]?.json).toMatchObject({
        session_id: 'session-1',
        model_path: 'tinker://m/sampler_weights/a',
      });
      expect(server.requestsTo('POST asample').map(({ json }) => json['seq_id'])).toEqual([1, 2, 3]);
      expect(server.requestsTo('POST sessions/session-1/finish')).toHaveLength(1);
    });

    test('takes over the session it is given, opens in it before the first sample and ends it', async () => {
      const client = connect();
      const sessionId = await client.createSession();
      const sampler = client.createSampler({ baseModel: 'b', sessionId });

      await sampler.open();
      expect(server.requestsTo('POST create_sampling_session')).toHaveLength(1);
      await sampler.sample(request);
      await sampler.close();

      expect(server.requestsTo('POST create_session')).toHaveLength(1);
      expect(server.requestsTo('POST create_sampling_session')).toHaveLength(1);
      expect(server.requestsTo('POST sessions/session-1/finish')).toHaveLength(1);
    });

    test('opens a session of its own once the one it was given is lost', async () => {
      server.on('POST create_sampling_session', ({ json }) =>
        json['session_id'] === 'lost'
          ? { status: 404, json: { detail: 'Session not found' } }
          : { json: { sampling_session_id: 'session-1:sample' } },
      );
      const sampler = connect().createSampler({ baseModel: 'b', sessionId: 'lost' });

      await sampler.open();
      await sampler.close();

      expect(server.requestsTo('POST create_session')).toHaveLength(1);
      expect(server.requestsTo('POST sessions/session-1/finish')).toHaveLength(1);
      expect(server.requestsTo('POST sessions/lost/finish')).toHaveLength(0);
    });

    test('opens another session once the server lost the first', async () => {
      server.on('POST asample', ({ json }) =>
        json['sampling_session_id'] === 'session-1:sample'
          ? { status: 404, json: { detail: 'Sampling session not found' } }
          : { json: { request_id: 'r1' } },
      );
      const sampler = connect().createSampler({ baseModel: 'b' });

      const results = await Promise.all([sampler.sample(request), sampler.sample(request)]);

      expect(results).toHaveLength(2);
      expect(server.requestsTo('POST create_session')).toHaveLength(2);
    });

    test('says at once when the weights are gone', async () => {
      server.on('POST create_sampling_session', { status: 404, json: { detail: 'Checkpoint not found: x' } });

      const sampling = connect().createSampler({ modelPath: 'tinker://m/sampler_weights/a' }).sample(request);

      await expect(sampling).rejects.toMatchObject({ code: 'checkpoint-missing' });
      expect(server.requestsTo('POST create_sampling_session')).toHaveLength(1);
    });

    test('does not try for ever when every session is lost', async () => {
      server.on('POST asample', { status: 404, json: { detail: 'Sampling session not found' } });

      await expect(connect().createSampler({ baseModel: 'b' }).sample(request)).rejects.toMatchObject({
        code: 'session-lost',
      });
    });
  });
});
