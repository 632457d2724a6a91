import { request } from 'node:http';
import type { TestEngine } from '../unit/engines/local/server/engine-driver';
import { startTestEngine } from '../unit/engines/local/server/engine-driver';

/** A page in the person's browser asks the engine, which takes any key: it would delete runs, or take their weights away. */
let engine: TestEngine;
let model: string;
let checkpoint: string;

beforeAll(async () => {
  engine = await startTestEngine({ hosts: ['gpu.example'] });
  model = await engine.driver.createModel(await engine.driver.openSession());
  const saved = await engine.driver.finish('save_weights', { model_id: model, seq_id: 1, path: 'mine' });
  checkpoint = saved.body.path;
});

afterAll(() => engine.close());

interface Asked {
  readonly method?: string;
  readonly body?: object;
  readonly headers: Readonly<Record<string, string>>;
}

/** `fetch` sets some headers itself. */
function ask(path: string, { method = 'GET', body, headers }: Asked): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const type = body && { 'content-type': 'application/json' };
    const sent = request(
      `${engine.driver.url}${path}`,
      { method, headers: { ...type, ...headers } },
      (reply) => {
        reply.resume().once('end', () => {
          resolve(reply.statusCode);
        });
      },
    );
    sent.once('error', reject);
    sent.end(body && JSON.stringify(body));
  });
}

const host = () => new URL(engine.driver.url).host;

describe.each([
  ['under a name of its own that leads here', () => ({ host: 'evil.example' })],
  ['from its own site', () => ({ host: host(), origin: 'https://evil.example' })],
  ['in a sandboxed frame', () => ({ host: host(), origin: 'null' })],
])('a page that asks %s', (_how, headers) => {
  test('deletes no checkpoint', async () => {
    const path = `/api/v1/training_runs/${model}/checkpoints/weights/mine`;

    expect(await ask(path, { method: 'DELETE', headers: headers() })).toBe(403);
    expect((await engine.driver.post('weights_info', { tinker_path: checkpoint })).status).toBe(200);
  });

  test('opens no session', async () => {
    const body = { tags: [], user_metadata: {}, sdk_version: 'test' };

    expect(await ask('/api/v1/create_session', { method: 'POST', body, headers: headers() })).toBe(403);
  });

  test('reads neither runs nor numbers', async () => {
    for (const path of ['/api/v1/training_runs', '/api/v1/checkpoints', '/metrics', '/nothing'])
      expect(await ask(path, { headers: headers() })).toBe(403);
  });
});

test.each([
  '127.0.0.1',
  'localhost',
  '[::1]:80',
  'engine',
  '10.0.0.7:8000',
  'gpu.example',
  'GPU.example:8000',
])('clients may call it %s', async (name) => {
  expect(await ask('/api/v1/training_runs', { headers: { host: name } })).toBe(200);
});
