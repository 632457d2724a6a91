import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { Decrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { extract } from 'tar-stream';
import { readSafetensors } from '../../../../../src/engines/local/compute/safetensors';
import type { Reply, TestEngine } from './engine-driver';
import { containing, forwardBackwardBody, startTestEngine } from './engine-driver';

let engine: TestEngine;
let session: string;
let model: string;

beforeEach(async () => {
  engine = await startTestEngine();
  session = await engine.driver.openSession();
  model = await engine.driver.createModel(session);
});

afterEach(() => engine.close());

function save(route: string, sequence: number, more: object = {}): Promise<Reply> {
  return engine.driver.finish(route, { model_id: model, seq_id: sequence, path: 'first', ...more });
}

async function trainOnce(): Promise<void> {
  await engine.driver.train(model, 1, 3);
  await engine.driver.retrieve((await engine.driver.step(model, 2, 1)).body.request_id);
}

async function lossAfterLoading(path: string): Promise<number> {
  const loaded = await engine.driver.finish('load_weights', {
    session_id: session,
    path,
    optimizer: true,
  });
  const body = forwardBackwardBody(loaded.body.model_id, 1, 3);
  const { metrics } = (await engine.driver.finish('forward_backward', body)).body;
  return metrics['loss:sum'] ?? Number.NaN;
}

test('a pipe in place of weights is answered with the checkpoint’s path and what to do, and keeps nobody waiting', async () => {
  await trainOnce();
  await save('save_weights', 3);
  const place = path.join(engine.dataFolder, 'checkpoints', model.replaceAll(':', '_'), 'weights', 'first');
  rmSync(path.join(place, 'weights.safetensors'));
  execFileSync('mkfifo', [path.join(place, 'weights.safetensors')]);
  const address = `tinker://${model}/weights/first`;
  const words = `weights.safetensors of checkpoint ${address} is damaged: it is a pipe where a file belongs. Use an earlier checkpoint.`;

  const archive = await engine.driver.get(`training_runs/${model}/checkpoints/weights/first/archive.tar.gz`);
  const loaded = await engine.driver.finish('load_weights', { session_id: session, path: address });

  expect(archive).toMatchObject({ status: 400, body: { detail: words } });
  expect(loaded.body).toMatchObject({ error: words, category: 'user' });
});

describe('external weights', () => {
  test('are fetched file by file, as other programs load them', async () => {
    await trainOnce();
    const saved = await save('save_weights_external', 3);
    const folder = `training_runs/${model}/checkpoints/external_weights/first`;

    const { urls } = (await engine.driver.get(`${folder}/external_weights_urls`)).body as unknown as {
      urls: Record<string, string>;
    };

    expect(saved.body).toEqual({
      path: `tinker://${model}/external_weights/first`,
      type: 'save_weights_external',
    });
    expect(Object.keys(urls)).toEqual(['adapter_config.json', 'adapter_model.safetensors']);
    const [config, weights] = await Promise.all(
      Object.values(urls).map(async (url) => Buffer.from(await (await fetch(url)).arrayBuffer())),
    );
    expect(JSON.parse(String(config))).toMatchObject({ peft_type: 'LORA', r: 4 });
    expect(readSafetensors(weights ?? Buffer.alloc(0)).length).toBeGreaterThan(0);
    expect((await engine.driver.get(`${folder}/files/nope`)).body.detail).toContain('adapter_config.json');
  });

  test('are listed and deleted like any other, and are there after a restart', async () => {
    await save('save_weights_external', 1, { ttl_seconds: 3600 });
    await engine.restart();

    const { checkpoints } = (await engine.driver.get('checkpoints')).body;

    expect(checkpoints).toMatchObject([
      { checkpoint_id: 'external_weights/first', checkpoint_type: 'external' },
    ]);
    const address = `training_runs/${model}/checkpoints/external_weights/first`;
    expect((await engine.driver.call('DELETE', address)).status).toBe(204);
    expect((await engine.driver.get(`${address}/external_weights_urls`)).status).toBe(404);
  });

  test.each<[string, (path: string) => Promise<Reply>]>([
    ['trained on from', (path) => engine.driver.post('load_weights', { session_id: session, path })],
    [
      'sampled',
      (path) => engine.driver.post('create_sampling_session', { session_id: session, model_path: path }),
    ],
    ['copied', (source) => engine.driver.post('copy_weights', { source_path: source })],
  ])('are not %s', async (_, use) => {
    const { path } = (await save('save_weights_external', 1)).body;

    expect(await use(path)).toMatchObject({
      status: 400,
      body: { detail: containing('saved for other programs') },
    });
  });

  test('need a name', async () => {
    expect((await save('save_weights_external', 1, { path: null })).status).toBe(422);
  });

  test('are read only by those they are encrypted to, by the file and in the archive, after a restart too', async () => {
    const [mine, other, stranger] = await Promise.all([1, 2, 3].map(() => generateX25519Identity()));
    const recipients = await Promise.all(
      [mine, other].map((identity) => identityToRecipient(identity ?? '')),
    );
    await save('save_weights_external', 1);
    await save('save_weights_external', 2, { path: 'sealed', age_encryption_recipients: recipients });
    const plain = await filesOf('first');
    await engine.restart();

    const sealed = await filesOf('sealed');

    expect(Object.keys(sealed)).toEqual(['adapter_config.json.age', 'adapter_model.safetensors.age']);
    for (const identity of [mine, other]) expect(await decrypted(sealed, identity)).toEqual(plain);
    expect(await decrypted(await archivedFiles('sealed'), mine)).toEqual(plain);
    await expect(decrypted(sealed, stranger)).rejects.toThrow('no identity matched');
  });

  test.each([
    [['ssh-ed25519 AAAA'], 422, 'SSH keys are not supported'],
    [Array.from({ length: 11 }, () => 'age1x'), 422, 'age_encryption_recipients'],
    [['age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8q'], 200, 'age-keygen'],
  ])('are not saved for %j', async (recipients, status, reason) => {
    const refused = await save('save_weights_external', 1, { age_encryption_recipients: recipients });

    expect(refused.status).toBe(status);
    expect(JSON.stringify(refused.body)).toContain(reason);
    expect((await save('save_weights_external', 2, { age_encryption_recipients: [] })).body.path).toContain(
      'first',
    );
  });
});

/** What a client fetches, by name. */
async function filesOf(name: string): Promise<Record<string, Buffer>> {
  const address = `training_runs/${model}/checkpoints/external_weights/${name}/external_weights_urls`;
  const { urls } = (await engine.driver.get(address)).body as unknown as { urls: Record<string, string> };
  const files = Object.entries(urls).map(async ([file, url]) => {
    const response = await fetch(url);
    const content = Buffer.from(await response.arrayBuffer());
    expect(Number(response.headers.get('content-length'))).toBe(content.byteLength);
    return [file, content] as const;
  });
  return Object.fromEntries(await Promise.all(files));
}

async function archivedFiles(name: string): Promise<Record<string, Buffer>> {
  const address = `training_runs/${model}/checkpoints/external_weights/${name}/archive.tar.gz`;
  const files: Record<string, Buffer> = {};
  const entries = extract();
  Readable.from([gunzipSync((await engine.driver.get(address)).bytes)]).pipe(entries);
  for await (const entry of entries) files[entry.header.name] = await buffer(entry);
  return files;
}

async function decrypted(
  sealed: Readonly<Record<string, Buffer>>,
  identity = '',
): Promise<Record<string, Buffer>> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  const plain = Object.entries(sealed).map(
    async ([name, content]) =>
      [name.replace(/\.age$/, ''), Buffer.from(await decrypter.decrypt(content))] as const,
  );
  return Object.fromEntries(await Promise.all(plain));
}

describe('a copy', () => {
  test('holds what its source held, optimizer and all, and outlives it', async () => {
    await trainOnce();
    const source = (await save('save_weights', 3, { ttl_seconds: 3600 })).body.path;
    const before = await lossAfterLoading(source);

    const { body } = await engine.driver.post('copy_weights', { source_path: source });
    const { tinker_path: copy } = body as unknown as { tinker_path: string };
    await engine.driver.call('DELETE', `training_runs/${model}/checkpoints/weights/first`);

    expect(copy).toMatch(/^tinker:\/\/[0-9a-f-]+:train:0\/weights\/first$/);
    expect(await lossAfterLoading(copy)).toBe(before);
    const { checkpoints } = (await engine.driver.get('checkpoints')).body;
    expect(checkpoints).toMatchObject([{ checkpoint_id: 'weights/first', expires_at: null }]);
  });

  test('of sampler weights stays one, in the place that was asked for, with the life that was asked for', async () => {
    const source = (await save('save_weights_for_sampler', 1)).body.path;
    const asked = { source_path: source, session_id: session, model_seq_id: 5, ttl_seconds: 3600 };

    const replies = [
      await engine.driver.post('copy_weights', asked),
      await engine.driver.post('copy_weights', asked),
    ];

    for (const { body } of replies)
      expect(body).toEqual({ tinker_path: `tinker://${session}:train:5/sampler_weights/first` });
    const { checkpoints } = (await engine.driver.get(`training_runs/${session}:train:5/checkpoints`)).body;
    expect(checkpoints).toHaveLength(1);
    expect(Date.parse(checkpoints[0]?.expires_at ?? '')).toBeGreaterThan(Date.now() + 3_500_000);
  });

  test('that is asked for again under the same key is the same copy', async () => {
    const source = (await save('save_weights', 1)).body.path;
    const ask = (key: string) =>
      engine.driver.post(
        'copy_weights',
        { source_path: source, destination_project_id: 'p' },
        { 'x-idempotency-key': key },
      );

    const [first, again, other] = [await ask('k'), await ask('k'), await ask('other')];

    expect(again.body).toEqual(first.body);
    expect(other.body).not.toEqual(first.body);
  });

  test.each<[string, (source: string) => object, number, string]>([
    [
      'of what is not there',
      () => ({ source_path: `tinker://${model}/weights/nope` }),
      404,
      'Checkpoint not found',
    ],
    [
      'with half a place',
      (source) => ({ source_path: source, session_id: session }),
      422,
      'model_seq_id go together',
    ],
    [
      'in the place of a model',
      (source) => ({ source_path: source, session_id: session, model_seq_id: 0 }),
      400,
      'already used for a model',
    ],
    [
      'into a session that is not there',
      (source) => ({ source_path: source, session_id: 'nope', model_seq_id: 1 }),
      404,
      'Session "nope" not found',
    ],
  ])('%s is refused', async (_, asked, status, detail) => {
    const source = (await save('save_weights', 1)).body.path;

    const reply = await engine.driver.post('copy_weights', asked(source));

    expect(reply).toMatchObject({ status, body: { detail: containing(detail) } });
  });

  test('does not take the place of one with other weights', async () => {
    const asked = { session_id: session, model_seq_id: 5 };
    const first = (await save('save_weights', 1)).body.path;
    await engine.driver.post('copy_weights', { source_path: first, ...asked });
    await engine.driver.train(model, 2, 3);
    await engine.driver.retrieve((await engine.driver.step(model, 3, 1)).body.request_id);
    const second = (await save('save_weights', 4, { overwrite: true })).body.path;

    const reply = await engine.driver.post('copy_weights', { source_path: second, ...asked });

    expect(reply).toMatchObject({ status: 400, body: { detail: containing('with other weights') } });
  });
});

test.each([
  ['GET', 'audit', 'no accounts'],
  ['GET', 'auth/apikey/me', 'no accounts'],
  ['GET', 'billing/usage/checkpoints/current', 'size_bytes'],
  ['PUT', 'sessions/x/project', 'no accounts'],
  ['POST', 'sessions/search', 'GET sessions'],
  ['GET', 'sessions/x/trace_export', 'no traces'],
  ['POST', 'create_custom_loss', 'compute the loss themselves'],
  ['POST', 'join_sampling_session', 'seq_id'],
  ['POST', 'retrieve_futures', 'retrieve_future for each'],
])('%s %s is refused with a reason, and not to be tried again', async (method, route, reason) => {
  const reply = await engine.driver.call(method, route, method === 'GET' ? undefined : {});

  expect(reply).toMatchObject({ status: 400, body: { detail: containing(reason) } });
});
