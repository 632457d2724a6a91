import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { readSafetensors } from '../../../../../src/engines/local/compute/safetensors';
import type { TestEngine } from './engine-driver';
import { anyOf, containing, forwardBackwardBody, startTestEngine } from './engine-driver';
import { BASE_MODEL } from './fake-runtime';

let engine: TestEngine;
let session: string;
let model: string;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Of the engine, beside the time that really passes. */
const clock = { now: 0, elapsed: 0 };

beforeEach(async () => {
  Object.assign(clock, { now: 0, elapsed: 0 });
  engine = await startTestEngine({
    now: () => Date.now() + clock.now,
    elapsed: () => performance.now() + clock.elapsed,
  });
  session = await engine.driver.openSession();
  model = await engine.driver.createModel(session);
});

afterEach(async () => {
  await engine.close();
});

function save(sequence: number, extra: object = {}, route = 'save_weights') {
  return engine.driver.finish(route, { model_id: model, seq_id: sequence, path: 'first', ...extra });
}

async function trainOnce(): Promise<void> {
  await engine.driver.train(model, 1, 3);
  const step = await engine.driver.step(model, 2, 1);
  await engine.driver.retrieve(step.body.request_id);
}

async function lossOf(id: string, sequence: number): Promise<number> {
  const { body } = await engine.driver.finish('forward_backward', forwardBackwardBody(id, sequence, 3));
  return body.metrics['loss:sum'] ?? Number.NaN;
}

async function filesIn(archive: Buffer): Promise<Record<string, Buffer>> {
  const files: Record<string, Buffer> = {};
  for await (const entry of Readable.from(archive).pipe(createGunzip()).pipe(extract())) {
    const parts: Buffer[] = [];
    for await (const part of entry) parts.push(part as Buffer);
    files[entry.header.name] = Buffer.concat(parts);
  }
  return files;
}

describe('a checkpoint', () => {
  test('lies in a folder of its own, under the address it is known by', async () => {
    const saved = await save(1);
    const sampler = await save(2, {}, 'save_weights_for_sampler');

    expect(saved.body).toEqual({ path: `tinker://${model}/weights/first`, type: 'save_weights' });
    expect(sampler.body.path).toBe(`tinker://${model}/sampler_weights/first`);
    const folder = path.join(engine.dataFolder, 'checkpoints', model.replaceAll(':', '_'));
    expect(readdirSync(path.join(folder, 'weights', 'first')).sort()).toEqual([
      'meta.json',
      'optimizer.safetensors',
      'weights.safetensors',
    ]);
    expect(readdirSync(path.join(folder, 'sampler_weights', 'first')).sort()).toEqual([
      'meta.json',
      'weights.safetensors',
    ]);
  });

  test('holds the state at its place in the order, although later work was already queued', async () => {
    engine.runtime.trainingGate.shut();
    await engine.driver.train(model, 1, 3);
    await engine.driver.step(model, 2, 1);
    const saving = await engine.driver.post('save_weights', { model_id: model, seq_id: 3, path: 'at-one' });
    await engine.driver.train(model, 4, 3);
    const last = await engine.driver.step(model, 5, 1);
    engine.runtime.trainingGate.open();
    const path = (await engine.driver.retrieve(saving.body.request_id)).body.path;
    await engine.driver.retrieve(last.body.request_id);

    const load = { session_id: session, model_seq_id: 1, path, optimizer: true };
    const restored = (await engine.driver.finish('load_weights', load)).body.model_id;

    expect(engine.runtime.calls.at(-1)).toBe('1:import:1');
    expect(await lossOf(restored, 1)).toBeGreaterThan(await lossOf(model, 6));
  });

  test('outlives the process, while models and sessions do not', async () => {
    await trainOnce();
    const path = (await save(3)).body.path;
    const before = await lossOf(model, 4);

    await engine.restart();

    expect((await engine.driver.train(model, 5, 1)).status).toBe(404);
    expect((await engine.driver.post('session_heartbeat', { session_id: session })).status).toBe(404);
    const load = { session_id: await engine.driver.openSession(), model_seq_id: 0, path, optimizer: true };
    const restored = (await engine.driver.finish('load_weights', load)).body.model_id;
    expect(engine.runtime.calls).toEqual(['0:import:1']);
    expect(await lossOf(restored, 1)).toBe(before);
  });

  test('shares the file of equal weights with what is sampled of it, and outlives that', async () => {
    await trainOnce();
    const address = (await save(3)).body.path;
    const loss = await lossOf(model, 4);
    const sampler = (await save(5, {}, 'save_weights_for_sampler')).body.path;
    const folder = path.join(engine.dataFolder, 'checkpoints', model.replaceAll(':', '_'));
    const inode = (kind: string) => statSync(path.join(folder, kind, 'first', 'weights.safetensors')).ino;

    expect(inode('sampler_weights')).toBe(inode('weights'));
    expect(readdirSync(path.join(folder, 'sampler_weights', 'first')).sort()).toEqual([
      'meta.json',
      'weights.safetensors',
    ]);

    await engine.driver.train(model, 6, 3);
    await engine.driver.step(model, 7, 1);
    await save(8, { overwrite: true }, 'save_weights_for_sampler');
    expect(inode('sampler_weights')).not.toBe(inode('weights'));
    const restored = await engine.driver.finish('load_weights', {
      session_id: session,
      model_seq_id: 1,
      path: address,
    });
    expect(await lossOf(restored.body.model_id, 1)).toBe(loss);
    expect(sampler).toBe(`tinker://${model}/sampler_weights/first`);
  });

  test('is refused under a taken name, unless overwriting is asked for', async () => {
    await save(1);

    const taken = await save(2);
    const overwritten = await save(2, { overwrite: true });
    const next = await engine.driver.finish('forward_backward', forwardBackwardBody(model, 3, 1));

    expect(taken).toMatchObject({ status: 400, body: { detail: containing('already exists') } });
    expect(overwritten.body.path).toBe(`tinker://${model}/weights/first`);
    expect(next.body).toHaveProperty(['metrics', 'loss:sum']);
  });

  test('is saved once however often the request is sent', async () => {
    const first = await save(1);
    const again = await save(1);

    expect(again).toEqual(first);
  });

  test('gets a name from its number when it was given none', async () => {
    const saved = await save(1, { path: undefined });

    expect(saved.body.path).toBe(`tinker://${model}/weights/checkpoint-000001`);
  });

  test.each(['../escape', '..', '.hidden', 'a/b', 'a\\b', '', 'x'.repeat(201), 'naïve', 'nul\u0000'])(
    'cannot be called %j',
    async (name) => {
      const before = readdirSync(engine.dataFolder, { recursive: true });

      expect((await save(1, { path: name })).status).toBe(422);
      expect(readdirSync(engine.dataFolder, { recursive: true })).toEqual(before);
    },
  );

  test.each([
    'tinker://../weights/x',
    'tinker://a:train:0/../x',
    'tinker://a:train:0/weights/..',
    'tinker://a:train:0/weights/x/y',
    'tinker://a:train:0/x',
    '/etc/passwd',
    'file:///etc/passwd',
    '',
  ])('cannot be at %j', async (address) => {
    const load = await engine.driver.post('load_weights', { session_id: session, path: address });
    const info = await engine.driver.post('weights_info', { tinker_path: address });
    const sampler = await engine.driver.post('create_sampling_session', {
      session_id: session,
      model_path: address,
    });

    expect([load.status, info.status, sampler.status]).toEqual([400, 400, 400]);
  });

  test('that was never saved is not found', async () => {
    const address = `tinker://${model}/weights/nope`;

    expect((await engine.driver.post('weights_info', { tinker_path: address })).status).toBe(404);
    expect((await engine.driver.post('load_weights', { session_id: session, path: address })).status).toBe(
      404,
    );
    const into = await engine.driver.finish('load_weights', { model_id: model, seq_id: 1, path: address });
    expect(into.body).toMatchObject({ category: 'user', error: containing('not found') });
  });

  test('goes when its time is over, by the time and by a clock that nobody sets', async () => {
    const address = (await save(1, { ttl_seconds: 60 })).body.path;
    await save(2, { path: 'second' });
    clock.now += 61_000;
    expect((await engine.driver.post('weights_info', { tinker_path: address })).status).toBe(200);

    clock.elapsed += 61_000;

    expect((await engine.driver.post('weights_info', { tinker_path: address })).status).toBe(404);
    expect((await engine.driver.get('checkpoints')).body.checkpoints).toHaveLength(1);
  });

  describe('whose time is over by a clock that jumped', () => {
    const names = async () =>
      (await engine.driver.get('checkpoints')).body.checkpoints.map((each) => each.checkpoint_id).sort();
    const saveTwo = async () => {
      await save(1, { path: 'older', ttl_seconds: (3 * DAY_MS) / 1000 });
      await save(2, { path: 'newer', ttl_seconds: (3 * DAY_MS) / 1000 });
    };
    const expire = async () => {
      clock.now += 7 * DAY_MS;
      await names();
      clock.elapsed += HOUR_MS;
    };

    test('is there, and stays where the clock is put right', async () => {
      await saveTwo();

      clock.now += 7 * DAY_MS;
      expect(await names()).toEqual(['weights/newer', 'weights/older']);
      clock.now = 0;
      clock.elapsed += HOUR_MS;

      expect(await names()).toEqual(['weights/newer', 'weights/older']);
      clock.now += 7 * DAY_MS;
      expect(await names()).toEqual(['weights/newer', 'weights/older']);
    });

    test.each([
      ['goes on', async () => undefined],
      [
        'was interrupted',
        () => engine.driver.post(`sessions/${session}/finish`, { reason: { type: 'interrupted' } }),
      ],
      ['lost its engine', () => engine.restart()],
    ])('is the newest state of a run that %s, and is kept', async (_what, happen) => {
      await saveTwo();
      await happen();

      await expire();

      expect(await names()).toEqual(['weights/newer']);
    });

    describe('while engines live for minutes only', () => {
      /** What the machine counts since it was started. */
      const boot = { id: '', elapsed: () => performance.now() + clock.elapsed };
      const restarted = () => engine.restart({ boot: { ...boot } });

      beforeEach(() => {
        boot.id = 'first';
      });

      test.each<[string, () => void, readonly string[]]>([
        ['goes an hour after an earlier engine saw so', () => undefined, ['weights/newer']],
        [
          'stays where the clock was put right meanwhile and jumped again',
          () => {
            clock.now += 3 * DAY_MS;
          },
          ['weights/newer', 'weights/older'],
        ],
        [
          'stays where the machine was started anew',
          () => {
            boot.id = 'second';
          },
          ['weights/newer', 'weights/older'],
        ],
      ])('%s', async (_what, happen, left) => {
        await saveTwo();
        clock.now += 7 * DAY_MS;
        await restarted();
        expect(await names()).toEqual(['weights/newer', 'weights/older']);

        clock.now += HOUR_MS;
        clock.elapsed += HOUR_MS;
        happen();
        await restarted();

        expect(await names()).toEqual(left);
      });

      test('stays where an engine between saw the clock put right', async () => {
        await saveTwo();
        clock.now += 7 * DAY_MS;
        await restarted();
        clock.now -= 7 * DAY_MS;
        clock.elapsed += HOUR_MS / 2;
        clock.now += HOUR_MS / 2;
        await restarted();
        clock.now += 7 * DAY_MS + HOUR_MS / 2;
        clock.elapsed += HOUR_MS / 2;
        await restarted();

        expect(await names()).toEqual(['weights/newer', 'weights/older']);
      });
    });

    test('goes with the others once its run is closed, also after a restart', async () => {
      await saveTwo();
      await engine.driver.post(`sessions/${session}/finish`, { reason: { type: 'success' } });
      await engine.restart();

      await expire();

      expect(await names()).toEqual([]);
    });
  });

  test('that was half written when the process died does not exist, and its name is free', async () => {
    await save(1, { path: 'whole' });
    const folder = path.join(engine.dataFolder, 'checkpoints', model.replaceAll(':', '_'), 'weights');
    mkdirSync(path.join(folder, '.unfinished-0-torn'));
    writeFileSync(path.join(folder, '.unfinished-0-torn', 'weights.safetensors'), 'torn');
    renameSync(path.join(folder, 'whole'), path.join(folder, '.replaced-whole'));

    await engine.restart();

    const { checkpoints } = (await engine.driver.get(`training_runs/${model}/checkpoints`)).body;
    expect(checkpoints.map((checkpoint) => checkpoint.checkpoint_id)).toEqual(['weights/whole']);
    expect(readdirSync(folder)).toEqual(['whole']);
  });
});

describe('a damaged checkpoint', () => {
  const folderOf = (kind: string) =>
    path.join(engine.dataFolder, 'checkpoints', model.replaceAll(':', '_'), kind, 'first');

  function flipOneBit(file: string): void {
    const bytes = readFileSync(file);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 2) ^ 4, bytes.length - 2);
    writeFileSync(file, bytes);
  }

  test.each(['weights.safetensors', 'optimizer.safetensors'])(
    'is not restored when one bit of %s has changed',
    async (file) => {
      await trainOnce();
      const address = (await save(3)).body.path;
      const before = await lossOf(model, 4);
      flipOneBit(path.join(folderOf('weights'), file));

      const load = { session_id: session, model_seq_id: 1, path: address, optimizer: true };
      const created = await engine.driver.finish('load_weights', load);
      const into = await engine.driver.finish('load_weights', { ...load, model_id: model, seq_id: 5 });

      const failure = {
        status: 200,
        body: { category: 'user', error: containing(`${file} of checkpoint ${address} is damaged`) },
      };
      expect([created, into]).toMatchObject([failure, failure]);
      expect(await lossOf(model, 6)).toBe(before);
    },
  );

  test('whose optimizer alone has changed still gives its weights', async () => {
    const address = (await save(1)).body.path;
    flipOneBit(path.join(folderOf('weights'), 'optimizer.safetensors'));

    const load = { session_id: session, model_seq_id: 1, path: address, optimizer: false };

    expect((await engine.driver.finish('load_weights', load)).body).toMatchObject({ path: address });
  });

  test('is neither sampled from nor handed out', async () => {
    const address = (await save(1, {}, 'save_weights_for_sampler')).body.path;
    flipOneBit(path.join(folderOf('sampler_weights'), 'weights.safetensors'));
    const sample = { model_path: address, prompt: { chunks: [{ tokens: [1] }] }, sampling_params: {} };
    const route = `training_runs/${model}/checkpoints/sampler_weights/first/archive.tar.gz`;

    const drawn = await engine.driver.finish('asample', sample);
    const archive = await engine.driver.get(route);

    expect(drawn.body).toMatchObject({ category: 'user', error: containing('is damaged') });
    expect(archive).toMatchObject({ status: 400, body: { detail: containing('is damaged') } });
  });

  test('whose file is gone or cut off says so too', async () => {
    const address = (await save(1)).body.path;
    const file = path.join(folderOf('weights'), 'weights.safetensors');
    const load = (sequence: number) =>
      engine.driver.finish('load_weights', { session_id: session, model_seq_id: sequence, path: address });
    truncateSync(file, 10);
    const cut = await load(1);
    rmSync(file);
    const gone = await load(2);

    expect([cut, gone]).toMatchObject([
      { body: { error: containing('SHA-256') } },
      { body: { error: containing('the file is gone') } },
    ]);
  });

  test('whose description has changed is not found', async () => {
    await trainOnce();
    const address = (await save(3)).body.path;
    const file = path.join(folderOf('weights'), 'meta.json');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace('"optimizerStep": 1', '"optimizerStep": 9'));
    await engine.restart();

    const load = { session_id: await engine.driver.openSession(), path: address };

    expect(text).toContain('"optimizerStep": 1');
    expect(await engine.driver.post('load_weights', load)).toMatchObject({
      status: 404,
      body: { detail: containing('not found') },
    });
  });

  test('cannot be told from a sound one where it was saved without hashes: that still loads', async () => {
    await trainOnce();
    const address = (await save(3)).body.path;
    const before = await lossOf(model, 4);
    const file = path.join(folderOf('weights'), 'meta.json');
    const meta = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    writeFileSync(file, JSON.stringify({ ...meta, sha256: undefined, digest: undefined }));
    await engine.restart();

    const load = { session_id: await engine.driver.openSession(), path: address, optimizer: true };
    const restored = (await engine.driver.finish('load_weights', load)).body.model_id;

    expect(await lossOf(restored, 1)).toBe(before);
  });

  test('is not what a restart makes of one with odd metadata and a changed time to live', async () => {
    const text = JSON.stringify({
      model_id: model,
      seq_id: 1,
      path: 'first',
      user_metadata: { b: 1, a: [] },
    });
    await engine.driver.finish('save_weights', text.replace('[]', '[1e400, -0, 1e21]'));
    const route = `training_runs/${model}/checkpoints/weights/first/ttl`;
    await engine.driver.call('PUT', route, { ttl_seconds: 3600 });
    await engine.restart();

    const load = {
      session_id: await engine.driver.openSession(),
      path: `tinker://${model}/weights/first`,
      optimizer: true,
    };

    expect((await engine.driver.finish('load_weights', load)).body).toMatchObject({ path: load.path });
  });

  test('is not what loading sees while the checkpoint is replaced and its time changed', async () => {
    const address = (await save(1)).body.path;
    const route = `training_runs/${model}/checkpoints/weights/first/ttl`;
    const replies: Promise<{ body: object }>[] = [];
    for (let round = 0; round < 20; round++) {
      replies.push(save(2 + round, { overwrite: true }));
      replies.push(engine.driver.call('PUT', route, { ttl_seconds: 3600 + round }));
      const load = { session_id: session, model_seq_id: 1 + round, path: address, optimizer: true };
      replies.push(engine.driver.finish('load_weights', load));
    }

    const bodies = (await Promise.all(replies)).map(({ body }) => body);
    await engine.restart();

    expect(bodies.filter((body) => 'error' in body || 'detail' in body)).toEqual([]);
    expect((await engine.driver.get('checkpoints')).body.checkpoints).toHaveLength(1);
  });
});

describe('loading', () => {
  test('into a model in use brings back weights and optimizer', async () => {
    await trainOnce();
    const address = (await save(3)).body.path;
    const before = await lossOf(model, 4);
    await engine.driver.step(model, 5, 1);
    expect(await lossOf(model, 6)).not.toBe(before);

    const loaded = await engine.driver.finish('load_weights', {
      model_id: model,
      seq_id: 7,
      path: address,
      optimizer: true,
    });

    expect(loaded.body).toMatchObject({ path: address, model_id: model, type: 'load_weights' });
    expect(engine.runtime.calls).toContain('0:import:1');
    expect(await lossOf(model, 8)).toBe(before);
  });

  test('without optimizer starts a fresh one', async () => {
    await trainOnce();
    const address = (await save(3)).body.path;

    await engine.driver.finish('load_weights', {
      session_id: session,
      model_seq_id: 4,
      path: address,
      optimizer: false,
    });

    expect(engine.runtime.calls.at(-1)).toBe('1:import:0');
  });

  test('right behind the save of the same name sees it', async () => {
    await engine.driver.post('save_weights', { model_id: model, seq_id: 1, path: 'quick' });

    const loaded = await engine.driver.finish('load_weights', {
      model_id: model,
      seq_id: 2,
      path: `tinker://${model}/weights/quick`,
      optimizer: true,
    });

    expect(loaded.body).toMatchObject({ type: 'load_weights' });
  });

  test('refuses the optimizer of weights saved for sampling', async () => {
    const address = (await save(1, {}, 'save_weights_for_sampler')).body.path;

    const loaded = await engine.driver.finish('load_weights', {
      model_id: model,
      seq_id: 2,
      path: address,
      optimizer: true,
    });

    expect(loaded.body).toMatchObject({
      category: 'user',
      error: containing('without optimizer state'),
    });
  });

  test('refuses weights of another shape, and the model lives on', async () => {
    const address = (await save(1)).body.path;
    const other = await engine.driver.createModel(session, { model_seq_id: 1, lora_config: { rank: 8 } });

    const loaded = await engine.driver.finish('load_weights', { model_id: other, seq_id: 1, path: address });

    expect(loaded.body).toMatchObject({ category: 'user', error: containing('LoRA of rank 4') });
    expect(await lossOf(other, 2)).toBeGreaterThan(0);
  });
});

describe('management', () => {
  test('lists runs and checkpoints, also those of earlier processes', async () => {
    await save(1, { user_metadata: { note: 'kept' }, ttl_seconds: 3600 });
    await save(2, {}, 'save_weights_for_sampler');
    await engine.restart();
    await engine.driver.createModel(await engine.driver.openSession());

    const runs = (await engine.driver.get('training_runs?limit=10&offset=0&access_scope=owned')).body;
    const run = (await engine.driver.get(`training_runs/${model}?access_scope=owned`)).body;
    const all = (await engine.driver.get('checkpoints?limit=1&offset=1')).body;

    expect(runs.cursor).toEqual({ offset: 0, limit: 10, total_count: 2 });
    expect(runs.training_runs).toContainEqual(run);
    expect(run).toMatchObject({
      training_run_id: model,
      base_model: BASE_MODEL,
      is_lora: true,
      lora_rank: 4,
      corrupted: false,
      last_checkpoint: {
        checkpoint_id: 'weights/first',
        checkpoint_type: 'training',
        tinker_path: `tinker://${model}/weights/first`,
        public: false,
        user_metadata: { note: 'kept' },
        expires_at: anyOf(String),
      },
      last_sampler_checkpoint: { checkpoint_type: 'sampler', expires_at: null },
    });
    expect(all.checkpoints.map((checkpoint) => checkpoint.checkpoint_id)).toEqual(['sampler_weights/first']);
    expect((await engine.driver.get('training_runs/nope')).status).toBe(404);
  });

  test('knows what weights are of', async () => {
    const address = (await save(1)).body.path;

    expect((await engine.driver.post('weights_info', { tinker_path: address })).body).toEqual({
      base_model: BASE_MODEL,
      is_lora: true,
      lora_rank: 4,
      train_unembed: true,
      train_mlp: true,
      train_attn: true,
    });
  });

  test('deletes a checkpoint, and asks for its kind', async () => {
    await save(1);
    const route = `training_runs/${encodeURIComponent(model)}/checkpoints`;

    expect((await engine.driver.call('DELETE', `${route}/first`)).status).toBe(400);
    expect((await engine.driver.call('DELETE', `${route}/weights/first`)).status).toBe(204);
    expect((await engine.driver.call('DELETE', `${route}/weights/first`)).status).toBe(404);
    expect(
      existsSync(path.join(engine.dataFolder, 'checkpoints', model.replaceAll(':', '_'), 'weights', 'first')),
    ).toBe(false);
    expect((await save(2)).body.path).toBe(`tinker://${model}/weights/first`);
  });

  test('sets and clears the time a checkpoint has', async () => {
    await save(1);
    const route = `training_runs/${model}/checkpoints/weights/first/ttl`;
    const expiry = async () =>
      (await engine.driver.get('checkpoints')).body.checkpoints[0]?.expires_at ?? 'never';

    expect((await engine.driver.call('PUT', route, { ttl_seconds: 3600 })).status).toBe(204);
    expect(Date.parse(await expiry())).toBeGreaterThan(Date.now() + 3_500_000);
    await engine.driver.call('PUT', route, { ttl_seconds: null });
    expect(await expiry()).toBe('never');
    expect((await engine.driver.call('PUT', route, { ttl_seconds: 0 })).status).toBe(422);
  });

  test('publishes nothing and says why', async () => {
    await save(1);
    const route = `training_runs/${model}/checkpoints/weights/first/publish`;

    expect(await engine.driver.post(route, '')).toMatchObject({
      status: 400,
      body: { detail: containing('publishes nothing') },
    });
    expect((await engine.driver.call('DELETE', route)).status).toBe(400);
  });

  test('hands out an adapter as other tools load it', async () => {
    await trainOnce();
    await save(3, {}, 'save_weights_for_sampler');

    const link = (await engine.driver.get(`training_runs/${model}/checkpoints/sampler_weights/first/archive`))
      .body;
    const response = await fetch(link.url);
    const files = await filesIn(Buffer.from(await response.arrayBuffer()));

    expect(Date.parse(link.expires)).toBeGreaterThan(Date.now());
    expect(Object.keys(files)).toEqual(['adapter_config.json', 'adapter_model.safetensors']);
    expect(JSON.parse(String(files['adapter_config.json']))).toMatchObject({
      peft_type: 'LORA',
      r: 4,
      lora_alpha: 32,
      base_model_name_or_path: BASE_MODEL,
    });
    expect(readSafetensors(files['adapter_model.safetensors'] ?? Buffer.of())[0]).toMatchObject({
      name: 'logits',
      shape: [16],
    });
  });

  test('hands out a fully trained model as one file', async () => {
    const full = await engine.driver.createModel(session, { model_seq_id: 5, lora_config: null });
    await engine.driver.finish('save_weights', { model_id: full, seq_id: 1, path: 'all' });

    const link = (await engine.driver.get(`training_runs/${full}/checkpoints/weights/all/archive`)).body;
    const files = await filesIn(Buffer.from(await (await fetch(link.url)).arrayBuffer()));

    expect(Object.keys(files)).toEqual(['model.safetensors']);
  });
});
