import { EngineDriver, startTestEngine } from './engine-driver';
import type { TestEngine } from './engine-driver';

const KEY = 'tml-the-key-of-this-engine';
const NOW = 1_800_000_000_000;
const DAY_MS = 24 * 3_600_000;

let engine: TestEngine;
let owner: EngineDriver;
let stranger: EngineDriver;
let archive: string;
let now = NOW;

beforeAll(async () => {
  engine = await startTestEngine({ clientKey: KEY, now: () => now });
  owner = new EngineDriver(engine.driver.url, { 'x-api-key': KEY });
  stranger = engine.driver;
  const model = await owner.createModel(await owner.openSession());
  const saved = await owner.finish('save_weights', { model_id: model, seq_id: 1, path: 'mine' });
  archive = `training_runs/${model}/checkpoints/${saved.body.path.split('/').slice(3).join('/')}/archive`;
});
afterAll(() => engine.close());
beforeEach(() => {
  now = NOW;
});

test.each([
  ['no key', {}],
  ['an empty one', { 'x-api-key': '' }],
  ['another one', { 'x-api-key': 'tml-another-key-than-this' }],
  ['part of it', { 'x-api-key': KEY.slice(0, -1) }],
  ['another bearer', { authorization: 'Bearer tml-another-key' }],
  ['what is no bearer', { authorization: `Basic ${KEY}` }],
])('with %s nothing is answered but whether the engine is there', async (_, headers) => {
  const client = new EngineDriver(stranger.url, headers);

  for (const [method, route] of [
    ['POST', 'create_session'],
    ['GET', 'training_runs'],
    ['GET', archive],
    ['GET', `${archive}.tar.gz`],
    ['DELETE', archive.replace(/\/archive$/, '')],
    ['GET', '/metrics'],
    ['GET', '/nowhere'],
  ] as const) {
    const { status, body } = await client.call(method, route, method === 'POST' ? {} : undefined);
    expect([route, status]).toEqual([route, 401]);
    expect(body.detail).toContain('TINKER_API_KEY');
  }
  expect((await client.get('healthz')).status).toBe(200);
  expect((await client.get('/healthz')).status).toBe(200);
});

/** With another first letter of its signature, whatever that is. */
const forged = (link: string) =>
  link.replace(/signature=./, (whole) => (whole.endsWith('A') ? 'signature=B' : 'signature=A'));

test('whoever shows the key is served, as clients of the protocol show it and as other programs do', async () => {
  const other = new EngineDriver(stranger.url, { authorization: `Bearer ${KEY}` });

  expect((await owner.get('training_runs')).body.training_runs).toHaveLength(1);
  expect((await other.get('/metrics')).status).toBe(200);
});

test('addresses of external weights are followed without the key, until they end', async () => {
  const model = await owner.createModel(await owner.openSession());
  await owner.finish('save_weights_external', { model_id: model, seq_id: 1, path: 'out' });
  const folder = `training_runs/${model}/checkpoints/external_weights/out`;
  const { urls } = (await owner.get(`${folder}/external_weights_urls`)).body as unknown as {
    urls: Record<string, string>;
  };

  const link = (urls['adapter_config.json'] ?? '').slice(stranger.url.length);

  expect((await stranger.get(link)).status).toBe(200);
  expect((await stranger.get(link.replace('adapter_config.json', 'adapter_model.safetensors'))).status).toBe(
    401,
  );
  expect((await stranger.get(`${folder}/external_weights_urls`)).status).toBe(401);
  now = NOW + DAY_MS;
  expect((await stranger.get(link)).status).toBe(401);
});

test('a link to an archive is followed without the key, until it ends, and leads to nothing else', async () => {
  const { url } = (await owner.get(archive)).body;
  const link = url.slice(stranger.url.length);
  const query = link.slice(link.indexOf('?'));

  expect((await stranger.get(link)).contentType).toBe('application/gzip');
  expect((await stranger.get(forged(link))).status).toBe(401);
  expect((await stranger.get(link.replace(/expires=\d/, 'expires=9'))).status).toBe(401);
  expect((await stranger.get(`/api/v1/training_runs${query}`)).status).toBe(401);
  expect((await stranger.call('DELETE', link)).status).toBe(401);
  now = NOW + DAY_MS;
  expect((await stranger.get(link)).status).toBe(401);
});
