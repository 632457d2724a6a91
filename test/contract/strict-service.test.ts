import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import type { AdamParams, Datum } from '../../src/core/datum';
import { createModelRuntime } from '../../src/engines/local/compute/create-model-runtime';
import type { LocalEngine } from '../../src/engines/local/engine';
import { startLocalEngine } from '../../src/engines/local/engine';
import type { ModelRuntime } from '../../src/engines/local/model-runtime';
import { parseStrike, seededTrouble, TROUBLES } from '../../src/engines/local/server/strict/strike';
import type { Trouble } from '../../src/engines/local/server/strict/strike';
import type { StrictOptions } from '../../src/engines/local/server/strict/strict-mode';
import { StrictMode } from '../../src/engines/local/server/strict/strict-mode';
import { mergeChunkResults, planChunks } from '../../src/engines/tinker/chunks';
import type { TinkerClient, TinkerClientOptions } from '../../src/engines/tinker/client';
import { createTinkerClient } from '../../src/engines/tinker/client';
import type { Waiting } from '../../src/engines/tinker/waiting';
import { RANDOM_MODEL, writeRandomModel } from '../unit/engines/local/compute/random-model';

const KEY = 'tml-key-of-a-test';
const SOON_MS = 20;
const ADAM: AdamParams = {
  learningRate: 0.02,
  beta1: 0.9,
  beta2: 0.95,
  eps: 1e-12,
  weightDecay: 0,
  gradClipNorm: 1,
};
const DATA: Datum[] = [0, 1, 2, 3].map((offset) => ({
  tokens: Int32Array.from({ length: 12 }, (_, index) => 2 + ((index + offset) % 9)),
  targetTokens: Int32Array.from({ length: 12 }, (_, index) => 2 + ((index + offset + 1) % 9)),
  lossInputs: { weights: Float32Array.from({ length: 12 }, (_, index) => (index < 3 ? 0 : 1)) },
}));

let runtime: ModelRuntime;
let dataFolder: string;
const engines: LocalEngine[] = [];
const clients: TinkerClient[] = [];

beforeAll(async () => {
  runtime = await createModelRuntime({
    threads: 1,
    modelsFolders: [writeRandomModel()],
    memoryMegabytes: 128,
  });
});

afterAll(() => runtime.close());

beforeEach(() => {
  dataFolder = mkdtempSync(path.join(tmpdir(), 'everstep-strict-'));
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await stopEngines();
  rmSync(dataFolder, { recursive: true, force: true });
});

async function stopEngines(): Promise<void> {
  for (const engine of engines.splice(0)) await engine.close();
}

interface Service {
  readonly url: string;
  readonly strict: StrictMode;
  readonly connect: (options?: Partial<TinkerClientOptions>) => TinkerClient;
}

async function serve(options: StrictOptions = {}, sessionTimeoutMs = 60_000): Promise<Service> {
  const strict = new StrictMode({ apiKeys: [KEY], retryAfterMs: SOON_MS, ...options });
  const started = await startLocalEngine({
    port: 0,
    dataFolder,
    runtime,
    logger: pino({ level: 'silent' }),
    longPollMs: 50,
    sessionTimeoutMs,
    strict,
  });
  engines.push(started);
  const connect = (more: Partial<TinkerClientOptions> = {}) => {
    const client = createTinkerClient({ baseUrl: started.url, apiKey: KEY, retryDelayMs: 10, ...more });
    clients.push(client);
    return client;
  };
  return { url: started.url, strict, connect };
}

async function openModel(client: TinkerClient): Promise<string> {
  const sessionId = await client.createSession({ tags: ['strict'] });
  const lora = { rank: 4, seed: 7 };
  return (await client.createModel({ sessionId, modelSeqId: 0, baseModel: RANDOM_MODEL, lora })).modelId;
}

/** Steps one after the other, then a save; what a run does, in small. Returns the digest of the weights. */
async function train(client: TinkerClient, stepCount = 4): Promise<string | null> {
  const modelId = await openModel(client);
  const limits = await client.profile();
  let seqId = 1;
  for (let step = 0; step < stepCount; step++) {
    const chunks = planChunks(DATA, limits);
    const refs = [];
    for (const data of chunks)
      refs.push(
        await client.submitForwardBackward({ modelId, seqId: seqId++, data, lossFn: 'cross_entropy' }),
      );
    const update = await client.submitOptimStep({ modelId, seqId: seqId++, adam: ADAM });
    const results = await Promise.all(refs.map((ref) => client.collectForwardBackward(ref)));
    expect(mergeChunkResults(results).logprobs).toHaveLength(DATA.length);
    await client.collectOptimStep(update);
  }
  const saved = await client.submitSaveWeightsForSampler({ modelId, seqId, name: 'last' });
  return client.weightsDigest((await client.collectSave(saved)).path);
}

async function stepsApplied(url: string): Promise<number> {
  return Number(/steps_applied_total (\d+)/.exec(await (await fetch(`${url}/metrics`)).text())?.[1]);
}

function post(url: string, route: string, headers: Record<string, string>, body: object = {}) {
  return fetch(`${url}/api/v1/${route}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

async function tokenOf(url: string): Promise<string> {
  const reply = await post(url, 'auth/token', { 'x-api-key': KEY });
  return ((await reply.json()) as { jwt: string }).jwt;
}

describe('keys and tokens', () => {
  test('a run of steps needs one exchange of the key, and its digest is that of any other engine', async () => {
    const { strict, connect } = await serve();

    const digest = await train(connect());
    await stopEngines();
    const plain = await startLocalEngine({
      port: 0,
      dataFolder,
      runtime,
      logger: pino({ level: 'silent' }),
    });
    engines.push(plain);
    const client = createTinkerClient({ baseUrl: plain.url });
    clients.push(client);

    expect(strict.seen('auth/token')).toBe(1);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(await train(client)).toBe(digest);
  });

  test.each([
    ['none', undefined],
    ['a wrong one', 'tml-some-other-key'],
  ])('with %s there is a refusal that names the variable and never the key', async (_, apiKey) => {
    const { connect } = await serve();

    const failure: unknown = await connect({ apiKey })
      .capabilities()
      .catch((error: unknown) => error);

    expect(failure).toMatchObject({
      code: 'unauthorized',
      message: expect.stringMatching(/^[^\n]*TINKER_API_KEY[^\n]*$/) as string,
    });
    expect(String(failure)).not.toContain('tml-some');
  });

  test('the key itself is good for nothing but the exchange', async () => {
    const { url } = await serve();

    const reply = await post(url, 'create_session', { 'x-api-key': KEY });

    expect(reply.status).toBe(401);
    expect(reply.headers.get('www-authenticate')).toContain('invalid_token');
  });

  test('a token that ends is renewed, also when it ends before its time', async () => {
    const { url, strict, connect } = await serve({ tokenLifeMs: 150 });
    const client = connect();
    const steady = connect();
    await client.capabilities();
    await new Promise((resolve) => setTimeout(resolve, 200));

    await client.capabilities();
    strict.strike({ trouble: 'token-revoked', route: 'create_session', at: 1 });
    const sessionId = await steady.createSession();

    expect(strict.seen('auth/token')).toBeGreaterThanOrEqual(4);
    expect(sessionId).not.toBe('');
    expect((await post(url, 'create_session', { 'x-api-key': await tokenOf(url) })).status).toBe(200);
  });

  test('that end are renewed once, however many requests they end for', async () => {
    const { strict, connect } = await serve();
    const client = connect();
    await client.capabilities();
    const exchanges = strict.seen('auth/token');
    strict.tokens.revokeAll();

    await Promise.all(Array.from({ length: 40 }, () => client.capabilities()));

    expect(strict.seen('auth/token')).toBe(exchanges + 1);
  });
});

describe('what it refuses', () => {
  test.each([
    ['a field nobody knows', 'create_session', { tags: [], novelty: 1 }, 422],
    ['a field nobody knows inside', 'optim_step', { model_id: 'm', seq_id: 1, adam_params: { lr: 1 } }, 422],
    ['forward_backward in JSON', 'forward_backward', { model_id: 'm', seq_id: 1 }, 415],
    ['the forward of older clients', 'forward', {}, 404],
  ])('%s', async (_, route, body, status) => {
    const { url } = await serve();

    const reply = await post(url, route, { 'x-api-key': await tokenOf(url) }, body);

    expect(reply.status).toBe(status);
  });

  test('results in JSON where the service gives protobuf only', async () => {
    const { url } = await serve();

    const headers = { 'x-api-key': await tokenOf(url), 'x-tinker-request-type': 'ForwardBackward' };

    expect((await post(url, 'retrieve_future', headers, { request_id: 'r' })).status).toBe(406);
  });

  test('a loss it does not offer, and goes on with the next number', async () => {
    const { connect } = await serve({ refusedLosses: ['cispo'] });
    const client = connect();
    const modelId = await openModel(client);
    const policy = DATA.map((datum) => ({
      ...datum,
      lossInputs: { logprobs: new Float32Array(12), advantages: new Float32Array(12) },
    }));

    await expect(
      client.submitForwardBackward({ modelId, seqId: 1, data: policy, lossFn: 'cispo' }),
    ).rejects.toMatchObject({
      code: 'request-failed',
      message: expect.stringContaining('"cispo" is not offered') as string,
    });
    const ref = await client.submitForwardBackward({
      modelId,
      seqId: 2,
      data: DATA,
      lossFn: 'cross_entropy',
    });
    await expect(client.collectForwardBackward(ref)).resolves.toMatchObject({
      logprobs: expect.any(Array) as [],
    });
  });

  test('a message of too many parts, before any of them is built', async () => {
    const { url } = await serve();
    const headers = { 'x-api-key': await tokenOf(url), 'content-type': 'application/x-protobuf' };
    const emptyDatum = [0x1a, 0];
    const body = Uint8Array.from({ length: 2 * 1_100_000 }, (_, index) => emptyDatum[index % 2] ?? 0);

    const reply = await fetch(`${url}/api/v1/forward_backward`, { method: 'POST', headers, body });

    expect(reply.status).toBe(400);
    expect(((await reply.json()) as { detail: string }).detail).toContain('more than 1000000 parts');
  });

  test('a request above its size limit, saying so', async () => {
    const { connect } = await serve({ maxBodyBytes: 300 });
    const client = connect();
    const modelId = await openModel(client);

    await expect(
      client.submitForwardBackward({ modelId, seqId: 1, data: DATA, lossFn: 'cross_entropy' }),
    ).rejects.toMatchObject({ code: 'request-failed', message: expect.stringMatching(/large/) as string });
  });
});

describe('what it makes clients wait for', () => {
  test.each<[Trouble, string, string]>([
    ['payment', 'forward_backward', 'billing'],
    ['payment', 'retrieve_future/OptimStep', 'billing'],
    ['rate-limit', 'optim_step', 'rate-limit'],
    ['rate-limit', 'retrieve_future/ForwardBackward', 'rate-limit'],
    ['busy', 'save_weights_for_sampler', 'server-busy'],
    ['server-error', 'forward_backward', 'server-error'],
    ['answer-lost', 'forward_backward', 'connection'],
    ['answer-lost', 'optim_step', 'connection'],
    ['answer-lost', 'save_weights_for_sampler', 'connection'],
    ['answer-lost', 'create_model', 'connection'],
    ['token-revoked', 'optim_step', ''],
    ['paused', 'retrieve_future/ForwardBackward', 'all accelerators are taken'],
  ])('%s at %s changes nothing', async (trouble, route, told) => {
    const { url, strict, connect } = await serve({
      maxChunkDatums: 2,
      strikes: [{ trouble, route, at: 1, count: 2 }],
    });
    const waits: (Waiting | null)[] = [];
    const quiet = await train(connect());
    const before = await stepsApplied(url);
    strict.strike({ trouble, route, at: 1, count: 2 });

    const digest = await train(connect({ onWait: (waiting) => waits.push(waiting) }));

    expect(digest).toBe(quiet);
    expect(await stepsApplied(url)).toBe(before + 4);
    expect(strict.struck.filter((struck) => struck.trouble === trouble).length).toBeGreaterThanOrEqual(2);
    const said = waits.flatMap((waiting) => (waiting ? [waiting.what] : []));
    expect(said.some((what) => told === '' || what === told)).toBe(told !== '');
    expect(waits.length === 0 || waits.at(-1) === null).toBe(true);
  });

  test.each([1, 2, 3])(
    'whatever strikes by seed %i, the weights and the count of steps are the same',
    async (seed) => {
      const { url, strict, connect } = await serve({
        maxChunkDatums: 2,
        announcedAboveBytes: 0,
        seeded: { seed, rate: 0.25 },
      });

      const digest = await train(connect(), 6);
      const applied = await stepsApplied(url);
      await stopEngines();
      const quiet = await serve({ maxChunkDatums: 2 });

      expect(strict.struck.length).toBeGreaterThan(3);
      expect(applied).toBe(6);
      expect(await train(quiet.connect(), 6)).toBe(digest);
    },
  );
});

describe('promises', () => {
  test('are announced with their size first where they are large', async () => {
    const { strict, connect } = await serve({ announcedAboveBytes: 0 });

    expect(await train(connect(), 1)).toMatch(/^[0-9a-f]{64}$/);
    expect(strict.struck).toEqual([]);
  });

  test('wait for the requests before them, in whatever order they come', async () => {
    const { connect } = await serve({ maxChunkDatums: 2 });
    const client = connect();
    const modelId = await openModel(client);
    const [first = [], second = []] = planChunks(DATA, { maxChunkDatums: 2, maxChunkBytes: 1e6 });
    const update = await client.submitOptimStep({ modelId, seqId: 3, adam: ADAM });
    const later = await client.submitForwardBackward({
      modelId,
      seqId: 2,
      data: second,
      lossFn: 'cross_entropy',
    });
    const collecting = Promise.all([client.collectForwardBackward(later), client.collectOptimStep(update)]);

    const isEarly = await Promise.race([
      collecting.then(() => true),
      new Promise<false>((resolve) => setTimeout(resolve, 150, false)),
    ]);
    const earlier = await client.submitForwardBackward({
      modelId,
      seqId: 1,
      data: first,
      lossFn: 'cross_entropy',
    });

    const inOrder = { modelId: await openModel(client), lossFn: 'cross_entropy' } as const;
    const one = await client.submitForwardBackward({ ...inOrder, seqId: 1, data: first });
    const two = await client.submitForwardBackward({ ...inOrder, seqId: 2, data: second });
    const three = await client.submitOptimStep({ modelId: inOrder.modelId, seqId: 3, adam: ADAM });

    expect(isEarly).toBe(false);
    expect(await client.collectForwardBackward(earlier)).toEqual(await client.collectForwardBackward(one));
    expect(await collecting).toEqual([
      await client.collectForwardBackward(two),
      await client.collectOptimStep(three),
    ]);
  });

  test('that are lost mean that the model is, for training', async () => {
    const { strict, connect } = await serve();
    const client = connect();
    const modelId = await openModel(client);
    strict.strike({ trouble: 'promise-lost', route: 'retrieve_future/ForwardBackward', at: 1 });
    const ref = await client.submitForwardBackward({
      modelId,
      seqId: 1,
      data: DATA,
      lossFn: 'cross_entropy',
    });

    await expect(client.collectForwardBackward(ref)).rejects.toMatchObject({ code: 'session-lost' });
    await expect(client.collectForwardBackward(ref)).rejects.toMatchObject({ code: 'session-lost' });
  });

  test('a sample whose promise is lost is asked for again', async () => {
    const { strict, connect } = await serve();
    const client = connect();
    const sessionId = await client.createSession();
    const samplingSessionId = await client.createSamplingSession({
      sessionId,
      samplingSessionSeqId: 0,
      baseModel: RANDOM_MODEL,
    });
    strict.strike({ trouble: 'promise-lost', route: 'retrieve_future/Sample', at: 1 });

    const { sequences } = await client.sample({
      samplingSessionId,
      request: {
        prompt: [5, 6, 7],
        numSamples: 1,
        params: { maxTokens: 3, temperature: 1, topK: -1, topP: 1, seed: 1 },
      },
    });

    expect(sequences).toHaveLength(1);
  });
});

test('a session without heartbeats ends, and its model with it', async () => {
  const { connect } = await serve({}, 200);
  const client = connect();
  const modelId = await openModel(client);
  await new Promise((resolve) => setTimeout(resolve, 500));

  await expect(
    client.submitForwardBackward({ modelId, seqId: 1, data: DATA, lossFn: 'cross_entropy' }),
  ).rejects.toMatchObject({ code: 'session-lost' });
});

test('its limits are those that clients read, and its catalogue is longer than what it can open', async () => {
  const { connect } = await serve({ maxChunkDatums: 3, maxChunkBytes: 999, alsoOffers: ['Acme/Large-9B'] });

  const client = connect();

  expect(await client.profile()).toMatchObject({
    server: 'tinker',
    maxChunkDatums: 3,
    maxChunkBytes: 999,
    countsAppliedSteps: false,
  });
  expect((await client.capabilities()).map(({ name }) => name)).toEqual(
    expect.arrayContaining([RANDOM_MODEL, 'Acme/Large-9B']) as string[],
  );
});

describe('strikes', () => {
  test.each([
    ['payment:forward_backward@3', { trouble: 'payment', route: 'forward_backward', at: 3 }],
    ['paused:retrieve_future/OptimStep@1x4', { route: 'retrieve_future/OptimStep', at: 1, count: 4 }],
    ['rate-limit:*@2+8s', { trouble: 'rate-limit', route: '*', at: 2, forMs: 8000 }],
  ])('%s is read', (text, expected) => {
    expect(parseStrike(text)).toMatchObject(expected);
  });

  test.each(['payment', 'payment:x', 'nonsense:x@1', 'payment:x@0'])('%s is refused', (text) => {
    expect(() => parseStrike(text)).toThrow(/is no strike.*payment/);
  });

  test('by seed are decided by seed, route and number, about as often as asked', () => {
    const drawn = (seed: number) =>
      Array.from({ length: 2000 }, (_, index) => seededTrouble({ seed, rate: 0.1 }, 'optim_step', index));

    const troubles = drawn(1).filter((trouble) => trouble !== null);

    expect(drawn(1)).toEqual(drawn(1));
    expect(drawn(2)).not.toEqual(drawn(1));
    expect(troubles.length).toBeGreaterThan(120);
    expect(troubles.length).toBeLessThan(280);
    expect(troubles.every((trouble) => TROUBLES.includes(trouble))).toBe(true);
  });
});
