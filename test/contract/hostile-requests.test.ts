import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import pino from 'pino';
import { createModelRuntime } from '../../src/engines/local/compute/create-model-runtime';
import type { LocalEngine } from '../../src/engines/local/engine';
import { startLocalEngine } from '../../src/engines/local/engine';
import type { ModelRuntime } from '../../src/engines/local/model-runtime';
import { encodeForwardBackwardRequest } from '../../src/engines/tinker/codec';
import { everyFifth } from '../setup/deep-cases';
import { RANDOM_MODEL, writeRandomModel } from '../unit/engines/local/compute/random-model';
import type { Reply } from '../unit/engines/local/server/engine-driver';
import { EngineDriver } from '../unit/engines/local/server/engine-driver';
import type { Names, Route } from './hostile-request-table';
import {
  RAW_BODIES,
  RAW_REQUESTS,
  ROUTES,
  TRAVERSALS,
  WRONG_CONTENT_TYPES,
  WRONG_VALUES,
} from './hostile-request-table';

/**
 * Whatever is sent to an engine: it answers with a reason, goes on, and trains to the same bits as one that was left
 * in peace. Each place of each route is sent a fifth of what there is, which is another fifth at the next; in test/deep all.
 */

const MEBIBYTE = 2 ** 20;
const folder = mkdtempSync(path.join(tmpdir(), 'everstep-hostile-'));
const modelsFolder = writeRandomModel();
const registered: string[] = [];
let runtime: ModelRuntime;
let engine: LocalEngine;
let driver: EngineDriver;
let names: Names;
/** Trained alike; only the first is there while the engine is attacked, and is named by none of the valid requests. */
let attacked: string;
let attackedSteps = 2;
let logged = '';

function noteRoutes(message: unknown): void {
  // The channel's one message, by fastify's documentation.
  const { fastify } = message as { readonly fastify: FastifyInstance };
  fastify.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) if (one !== 'HEAD') registered.push(`${one} ${url}`);
  });
}

async function start(options: { readonly requestTimeoutMs?: number } = {}): Promise<LocalEngine> {
  const dataFolder = path.join(folder, options.requestTimeoutMs ? 'impatient' : 'data');
  mkdirSync(dataFolder, { recursive: true });
  const logger = pino({ level: 'error' }, { write: (line: string) => (logged += line) });
  return startLocalEngine({ port: 0, dataFolder, runtime, logger, longPollMs: 500, ...options });
}

async function trained(sessionId: string, number: number): Promise<string> {
  const model = await driver.createModel(sessionId, {
    base_model: RANDOM_MODEL,
    model_seq_id: number,
    lora_config: { rank: 4, seed: 7 },
  });
  await trainOn(model, [1, 3]);
  return model;
}

async function trainOn(model: string, sequences: readonly number[]): Promise<void> {
  for (const sequence of sequences) {
    const body = ROUTES['POST /api/v1/forward_backward']?.body?.({ ...names, model });
    await driver.finish('forward_backward', { ...body, seq_id: sequence });
    const { body: stepped } = await driver.step(model, sequence + 1);
    expect((await collected(stepped.request_id)).body).toHaveProperty('metrics');
  }
}

async function digestOf(model: string, sequence: number): Promise<string> {
  const name = `digest-${sequence}`;
  await driver.finish('save_weights', { model_id: model, seq_id: sequence, path: name });
  const saved = path.join(folder, 'data', 'checkpoints', model.replaceAll(':', '_'), 'weights', name);
  const hash = createHash('sha256');
  for (const file of ['weights.safetensors', 'optimizer.safetensors'])
    hash.update(readFileSync(path.join(saved, file)));
  return hash.digest('hex');
}

async function appliedSteps(model: string): Promise<unknown> {
  const { body } = await driver.get(`/everstep/applied_steps?model_id=${encodeURIComponent(model)}`);
  return (body as unknown as Record<string, unknown>)['applied_steps'];
}

async function collected(requestId: string): Promise<Reply> {
  for (;;) {
    const reply = await driver.retrieve(requestId);
    if (reply.status !== 408) return reply;
  }
}

beforeAll(async () => {
  subscribe('fastify.initialization', noteRoutes);
  runtime = await createModelRuntime({ threads: 1, modelsFolders: [modelsFolder], memoryMegabytes: 256 });
  engine = await start();
  unsubscribe('fastify.initialization', noteRoutes);
  driver = new EngineDriver(engine.url);
  const session = await driver.openSession();
  names = {
    session,
    spareSession: await driver.openSession(),
    model: `${session}:train:0`,
    spareModel: `${session}:train:1`,
    sampler: `${session}:sample:0`,
    baseModel: RANDOM_MODEL,
    promise: `${session}:train:0:create`,
  };
  attacked = await trained(await driver.openSession(), 0);
  await trained(session, 0);
  await trained(session, 1);
  await driver.finish('save_weights', { model_id: names.model, seq_id: 5, path: 'kept' });
  await driver.post('create_sampling_session', {
    session_id: session,
    sampling_session_seq_id: 0,
    base_model: RANDOM_MODEL,
  });
});

afterAll(async () => {
  await engine.close();
  await runtime.close();
  rmSync(folder, { recursive: true, force: true });
  rmSync(modelsFolder, { recursive: true, force: true });
});

/** After every attack: the engine answers, has met nothing it did not expect, and the model is the one it was. */
afterEach(async () => {
  expect(logged).toBe('');
  expect((await driver.get('/healthz')).status).toBe(200);
  expect(await appliedSteps(attacked)).toBe(attackedSteps);
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

function addressOf(key: string, overrides: Readonly<Record<string, string>> = {}): string {
  const route = ROUTES[key];
  const params = { ...route?.params?.(names), ...overrides };
  const url = (key.split(' ')[1] ?? '').replace(/:(\w+)/g, (_, name: string) => params[name] ?? '');
  const query = new URLSearchParams({ ...route?.query }).toString();
  return query === '' ? url : `${url}?${query}`;
}

const methodOf = (key: string): string => key.split(' ')[0] ?? '';

/** Answered, never by a failure of the engine; refusals say why. Work that was taken on ends without one too. */
async function expectAnswer(what: unknown, reply: Reply): Promise<void> {
  const said = `${JSON.stringify(what).slice(0, 300)} was answered ${reply.status}`;
  if (reply.status >= 500 || reply.status < 200) throw new Error(said);
  if (reply.status === 408) return;
  if (reply.status >= 400) expectReason(said, reply.body.detail);
  else if (typeof reply.body.request_id === 'string') await expectOwnFault(said, reply.body.request_id);
}

function expectReason(said: string, detail: unknown): void {
  if (typeof detail !== 'string' || detail.length < 5) throw new Error(`${said} without a reason`);
  if (detail.length > 2000) throw new Error(`${said} at length`);
}

async function expectOwnFault(said: string, requestId: string): Promise<void> {
  const { status, body } = await driver.retrieve(requestId);
  if (status >= 500) throw new Error(`${said}, its result ${status}`);
  if ('error' in body && body.category !== 'user')
    throw new Error(`${said} and failed: ${JSON.stringify(body)}`);
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

test('every route of the engine is in the table', () => {
  expect([...new Set(registered)].sort()).toEqual(Object.keys(ROUTES).sort());
});

const entries = Object.entries(ROUTES);
const turnOf = (key: string): number => Object.keys(ROUTES).indexOf(key);
const withBody = entries.filter(
  (entry): entry is [string, Route & { body: NonNullable<Route['body']> }] => entry[1].body !== null,
);

test.each(withBody)('%s takes no body that is not what it should be', async (key) => {
  const call = (body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Reply> =>
    driver.call(methodOf(key), addressOf(key), body, headers);

  const turn = turnOf(key);

  for (const [what, body] of everyFifth(Object.entries(RAW_BODIES), turn)) {
    const reply = await call(body);
    await expectAnswer(what, reply);
    expect([what, [400, 413, 422]]).toEqual([what, expect.arrayContaining([reply.status])]);
  }
  for (const type of everyFifth(WRONG_CONTENT_TYPES, turn)) {
    expect([type, (await call('{}', { 'content-type': type })).status]).toEqual([type, 415]);
  }
  for (const encoding of everyFifth(['gzip', 'zstd', 'gzip, gzip', '..', 'x'], turn)) {
    expect((await call('{}', { 'content-encoding': encoding })).status).toBe(415);
  }
  for (const body of everyFifth(['[]', '7', 'null', '"x"', 'true', '{}', ''], turn))
    await expectAnswer(body, await call(body));
});

test.each(withBody)('%s with any one value exchanged', async (key, { body }) => {
  const valid = body(names);
  const changed = placesIn(valid).flatMap((place, index) =>
    everyFifth(WRONG_VALUES, turnOf(key) + index).map((value) => withValue(valid, place, value)),
  );
  const doubled = JSON.stringify(valid).replace('{', '{"model_id":"x","seq_id":-1,"path":"..",');

  await inParallel(changed, async (sent) => {
    await expectAnswer(sent, await driver.call(methodOf(key), addressOf(key), sent));
  });
  await expectAnswer(doubled, await driver.call(methodOf(key), addressOf(key), doubled));
});

test.each(entries.filter(([, { params, query }]) => params ?? query))(
  '%s with names that lead elsewhere',
  async (key, { params, query }) => {
    const odd = [
      ...TRAVERSALS,
      '%',
      '%ff',
      '%00',
      '',
      ' ',
      '__proto__',
      'constructor',
      'x'.repeat(400),
      'ключ',
      '*',
      ':',
    ];
    const values = odd.flatMap((text) => [encodeURIComponent(text), text.replaceAll('\u0000', '')]);
    for (const [index, name] of Object.keys(params?.(names) ?? {}).entries()) {
      for (const value of everyFifth(values, turnOf(key) + index)) {
        const url = addressOf(key, { [name]: value });
        const valid = ROUTES[key]?.body?.(names);
        const reply = await driver.call(methodOf(key), url, valid === undefined ? undefined : { ...valid });
        await expectAnswer(url, reply);
        expect(reply.bytes.toString('latin1')).not.toContain('root:');
      }
    }
    await askOddPages(key, Object.keys(query ?? {}));
  },
);

async function askOddPages(key: string, parameters: readonly string[]): Promise<void> {
  const url = addressOf(key).split('?')[0] ?? '';
  const odd = ['-1', '0.5', '1e999', 'NaN', '0x10', '', '99999999999999999999', '%00', '[]'];
  const queries = parameters.flatMap((name) =>
    odd.flatMap((value) => [`${name}=${value}`, `${name}=${value}&${name}=2`]),
  );
  for (const query of everyFifth(queries, turnOf(key))) {
    await expectAnswer(query, await driver.get(`${url}?${query}`));
  }
}

test('a binary request cut or changed at any place is refused, or fails by its own fault', async () => {
  const message = Buffer.from(
    encodeForwardBackwardRequest({
      modelId: attacked,
      seqId: 5,
      data: [
        {
          tokens: Int32Array.of(1, 2, 3),
          targetTokens: Int32Array.of(2, 3, 4),
          lossInputs: { weights: Float32Array.of(1, 1, 1) },
        },
      ],
      lossFn: 'cross_entropy',
      lossFnConfig: {},
      forwardOnly: false,
    }),
  );
  const send = (body: Uint8Array, route = 'forward_backward'): Promise<Reply> =>
    driver.post(route, body, { 'content-type': 'application/x-protobuf' });

  const cuts = Array.from({ length: message.length }, (_, length) => message.subarray(0, length));
  await inParallel(everyFifth(cuts, 0), async (body) => {
    const { status } = await send(body);
    expect([400, 422]).toContain(status);
  });
  // Its model's number may become another one, so it goes to a model that nobody knows.
  message.write('f', message.indexOf(attacked));
  const flips = Array.from({ length: message.length * 4 }, (_, at) => {
    const body = Buffer.from(message);
    body[Math.floor(at / 4)] = [0, 0x7f, 0x80, 0xff][at % 4] ?? 0;
    return body;
  }).filter((body) => !body.includes(attacked));
  await inParallel(everyFifth(flips, 0), async (body) =>
    expectAnswer(body.toString('hex'), await send(body, 'forward')),
  );
});

test.each(Object.entries(RAW_REQUESTS))('%s on the wire', async (_, [sent, answer]) => {
  const reply = await exchange(sent);

  if (answer === null) expect(reply === '' || / 4\d\d /.test(reply)).toBe(true);
  else expect(reply.split('\r\n')[0]).toMatch(answer);
});

function exchange(sent: string): Promise<string> {
  const { hostname, port } = new URL(driver.url);
  return new Promise((resolve) => {
    let received = '';
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      socket.write(sent, 'latin1');
    });
    socket.on('data', (part) => (received += part.toString('latin1')));
    // A connection that is reset is closed as well.
    socket.on('error', () => null);
    socket.on('close', () => {
      resolve(received);
    });
    socket.on('end', () => {
      socket.destroy();
    });
  });
}

describe('100 MB', () => {
  const chunk = Buffer.alloc(MEBIBYTE, ' ');

  /** Sends until it is refused; how much went out, and what came back. */
  function pour(
    url: string,
    headers: Record<string, string>,
  ): Promise<{ status: number; sentBytes: number }> {
    return new Promise((resolve, reject) => {
      let sentBytes = 0;
      const request = httpRequest(`${driver.url}${url}`, { method: 'POST', headers });
      const stop = (status: number): void => {
        resolve({ status, sentBytes });
        request.destroy();
      };
      request.on('response', (response) => {
        stop(response.statusCode ?? 0);
      });
      request.on('error', (error) => {
        if (sentBytes > 0) stop(413);
        else reject(error);
      });
      const send = (): void => {
        if (request.destroyed) return;
        sentBytes += chunk.length;
        if (sentBytes >= 100 * MEBIBYTE) request.end(chunk);
        else request.write(chunk, () => setImmediate(send));
      };
      send();
    });
  }

  test.each([
    ['create_session', 'application/json', 16],
    ['telemetry', 'application/json', 16],
    ['asample', 'application/json', 32],
    ['forward_backward', 'application/json', 96],
    ['forward_backward', 'application/x-protobuf', 96],
  ])('to %s as %s in chunks are refused on the way', async (route, type, mostMebibytes) => {
    const before = process.memoryUsage.rss();
    const { status, sentBytes } = await pour(`/api/v1/${route}`, { 'content-type': type });

    expect(status).toBe(413);
    expect(sentBytes).toBeLessThanOrEqual(mostMebibytes * MEBIBYTE);
    // Twice: what was read, and what this process sent of it.
    expect(process.memoryUsage.rss() - before).toBeLessThan(2 * mostMebibytes * MEBIBYTE + 64 * MEBIBYTE);
  });

  test('that are announced are refused before they are read', async () => {
    const headers = { 'content-type': 'application/json', 'content-length': String(100 * MEBIBYTE) };
    const { status, sentBytes } = await pour('/api/v1/forward_backward', headers);

    expect(status).toBe(413);
    expect(sentBytes).toBeLessThan(32 * MEBIBYTE);
  });

  test.each([
    ['lists', '[],'],
    ['objects', '{},'],
    ['keys', '"k":0,'],
  ])('of small %s within the limit are refused before they are built', async (_, part) => {
    const inner = part.repeat(Math.floor((24 * MEBIBYTE) / part.length)).slice(0, -1);
    const body = part.startsWith('"')
      ? `{"model_id":"x","data":{${inner}}}`
      : `{"model_id":"x","data":[${inner}]}`;
    const before = process.memoryUsage().heapUsed;

    const reply = await driver.post('forward_backward', body);

    expect(reply).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('several requests') as unknown },
    });
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(256 * MEBIBYTE);
  });
});

test('half requests are ended, and hold up nobody meanwhile', async () => {
  const impatient = await start({ requestTimeoutMs: 400 });
  const { hostname, port } = new URL(impatient.url);
  const halves = [
    'POST /api/v1/create_session HTTP/1.1\r\nHost: x\r\n',
    'POST /api/v1/create_session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"tags":',
    'POST /api/v1/forward_backward HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":',
  ];
  const ended = Array.from({ length: 60 }, (_, index) => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(halves[index % halves.length] ?? '');
    return new Promise<string>((resolve) => {
      let received = '';
      socket.on('data', (part) => (received += part.toString()));
      socket.on('error', () => null);
      socket.on('end', () => socket.destroy());
      socket.on('close', () => {
        resolve(received);
      });
    });
  });

  expect((await new EngineDriver(impatient.url).openSession()).length).toBeGreaterThan(10);
  for (const answer of await Promise.all(ended)) expect(answer).toMatch(/^HTTP\/1.1 408 /);
  await impatient.close();
});

test('after all of it the model trains on to the bits of one that was left in peace', async () => {
  await trainOn(attacked, [5]);
  attackedSteps = 3;
  const digest = await digestOf(attacked, 7);

  const peaceful = await trained(await driver.openSession(), 0);
  await trainOn(peaceful, [5]);

  expect(await digestOf(peaceful, 7)).toBe(digest);
  expect(readdirSync(folder).sort()).toEqual(['data', 'impatient']);
  expect(readdirSync(path.join(folder, 'data')).sort()).toEqual([
    'applied-steps.jsonl',
    'checkpoints',
    'ephemeral',
  ]);
});

/** Paths to every value of a body, the body itself left out. */
function placesIn(value: unknown, place: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    [...place, key],
    ...placesIn(inner, [...place, key]),
  ]);
}

function withValue(whole: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(whole))
    return whole.map((item: unknown, index) => (String(index) === key ? withValue(item, rest, value) : item));
  const holder = whole as Readonly<Record<string, unknown>>;
  return { ...holder, [key]: withValue(holder[key], rest, value) };
}
