import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SampleRequest } from '../../../../src/core/sampling';
import type { TinkerClient } from '../../../../src/engines/tinker/client';
import { createTinkerClient } from '../../../../src/engines/tinker/client';
import { KNOWN_PROFILES } from '../../../../src/engines/tinker/profile';
import { writePolicyNote } from '../../../../src/training/policy-note';
import { PolicySampler } from '../../../../src/training/reinforcement/policy-sampler';
import { StoreNews } from '../../../../src/training/store-news';
import type { ScriptedServer } from '../../engines/tinker/scripted-server';
import { startScriptedServer } from '../../engines/tinker/scripted-server';

const AWAITED = { step: 3, generation: 0 };
const PATH = 'tinker://m/sampler_weights/000003';

let folder: string;
let server: ScriptedServer;
let client: TinkerClient;
let news: StoreNews;
let calledOff: AbortController;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-policy-sampler-'));
  news = new StoreNews();
  calledOff = new AbortController();
  server = await startScriptedServer();
  client = createTinkerClient({
    ...{ baseUrl: server.url, apiKey: 'tml-x', retryDelayMs: 1 },
    profile: KNOWN_PROFILES.everstep,
  });
  server.on('POST client/config', { json: {} });
  server.on('GET get_server_capabilities', { json: { supported_models: [] } });
  server.on('POST create_session', { json: { session_id: 's1' } });
  server.on('POST create_sampling_session', { json: { sampling_session_id: 's1:sample' } });
  server.on('POST asample', { json: { request_id: 'r1' } });
  server.on('POST retrieve_future', {
    json: { sequences: [{ stop_reason: 'stop', tokens: [7], logprobs: [-0.5] }] },
  });
  server.on('POST sessions/s1/finish', { status: 204 });
});

afterEach(async () => {
  await client.close();
  await server.close();
  rmSync(folder, { recursive: true });
});

function waitingSampler(mayWait = true): PolicySampler {
  const place = { runFolder: folder, news, signal: calledOff.signal };
  return new PolicySampler(client, { policy: null, awaited: AWAITED, mayWait }, place);
}

async function passOn(): Promise<void> {
  await writePolicyNote(folder, { ...AWAITED, samplerPath: PATH, isCheckpoint: false });
  news.tell();
}

async function nextRound(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

async function seen(route: string): Promise<void> {
  while (server.requestsTo(route).length === 0) await nextRound();
}

function request(onSend: () => void = () => undefined): SampleRequest {
  return {
    get prompt() {
      onSend();
      return [1, 2];
    },
    numSamples: 1,
    params: { maxTokens: 1, temperature: 1, topK: -1, topP: 1 },
  };
}

test('has its session open before the weights come, and nothing asked of it', async () => {
  const sampler = waitingSampler();
  const drawn = sampler.sample(request());
  await seen('POST create_session');

  expect(server.requestsTo('POST create_sampling_session')).toHaveLength(0);
  await passOn();
  expect((await drawn).sequences[0]?.tokens).toEqual([7]);
  await sampler.close();
  expect(server.requestsTo('POST create_session')).toHaveLength(1);
  expect(server.requestsTo('POST create_sampling_session')[0]?.json).toMatchObject({
    session_id: 's1',
    model_path: PATH,
  });
  expect(server.requestsTo('POST sessions/s1/finish')).toHaveLength(1);
});

test('has the first of many rollouts drawn before the last is asked for', async () => {
  const events: string[] = [];
  server.on('POST create_sampling_session', async () => {
    // As long as all of them take to be ready.
    for (let round = 0; round < 1000; round++) await nextRound();
    return { json: { sampling_session_id: 's1:sample' } };
  });
  server.on('POST asample', () => {
    events.push('received');
    return { json: { request_id: 'r1' } };
  });
  const sampler = waitingSampler();
  const drawing = Promise.all(
    Array.from({ length: 256 }, (_, index) => sampler.sample(request(() => events.push(`sent ${index}`)))),
  );
  await passOn();
  await drawing;
  await sampler.close();

  expect(events.indexOf('received')).toBeLessThan(events.indexOf('sent 255'));
});

test('ends its session when it is called off', async () => {
  const opening = jest.spyOn(client, 'createSession');
  const sampler = waitingSampler();
  const drawn = sampler.sample(request());
  await opening.mock.results[0]?.value;
  calledOff.abort(new Error('called off'));

  await expect(drawn).rejects.toThrow();
  await sampler.close();
  expect(server.requestsTo('POST create_sampling_session')).toHaveLength(0);
  expect(server.requestsTo('POST sessions/s1/finish')).toHaveLength(1);
});

test('samples all the same where no session could be opened ahead', async () => {
  server.on('POST create_session', [
    { status: 400, json: { detail: 'not now' } },
    { json: { session_id: 's1' } },
  ]);
  const sampler = waitingSampler();
  const drawn = sampler.sample(request());
  await seen('POST create_session');
  await passOn();

  expect((await drawn).sequences).toHaveLength(1);
  await sampler.close();
  expect(server.requestsTo('POST sessions/s1/finish')).toHaveLength(1);
});

describe('where it may not wait', () => {
  test('it takes the weights that are there', async () => {
    await passOn();
    const sampler = waitingSampler(false);

    await sampler.arrived();
    expect((await sampler.sample(request())).sequences).toHaveLength(1);
    await sampler.close();
  });

  test('it gives its place back at once, and has asked the service for nothing', async () => {
    const sampler = waitingSampler(false);

    await expect(sampler.arrived()).rejects.toThrow('did not come');
    await sampler.close();
    expect(sampler.isInVain).toBe(true);
    expect(server.requestsTo('POST create_session')).toHaveLength(0);
  });
});
