import { createHash } from 'node:crypto';
import { parseCheckpointPath } from '../../../../src/engines/tinker/checkpoint-path';
import type { TinkerClient, TinkerClientOptions } from '../../../../src/engines/tinker/client';
import { createTinkerClient } from '../../../../src/engines/tinker/client';
import { KNOWN_PROFILES } from '../../../../src/engines/tinker/profile';
import { packFiles, unpackFiles } from '../../../../src/engines/tinker/weights-archive';
import { digestSafetensors } from '../../../../src/engines/tinker/weights-digest';
import type { ScriptedServer } from './scripted-server';
import { startScriptedServer } from './scripted-server';

const PATH = 'tinker://s:train:0/weights/a';
const ROUTE = 'training_runs/s:train:0/checkpoints/weights/a';

let server: ScriptedServer;
let store: ScriptedServer;
const clients: TinkerClient[] = [];

function connect(profile: TinkerClientOptions['profile'] = {}): TinkerClient {
  const client = createTinkerClient({ baseUrl: server.url, apiKey: 'tml-secret', retryDelayMs: 1, profile });
  clients.push(client);
  return client;
}

beforeEach(async () => {
  server = await startScriptedServer();
  store = await startScriptedServer();
  server.on('POST client/config', { json: { everstep_engine: { deduplicates: true, deterministic: true } } });
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await server.close();
  await store.close();
});

/** A safetensors file with its tensors in the order given. */
function safetensors(tensors: Record<string, { dtype: string; bytes: Buffer }>): Buffer {
  let offset = 0;
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  for (const [name, { dtype, bytes }] of Object.entries(tensors)) {
    header[name] = { dtype, shape: [bytes.length], data_offsets: [offset, offset + bytes.length] };
    offset += bytes.length;
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...Object.values(tensors).map(({ bytes }) => bytes)]);
}

const floats = (...values: number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);
const sha256 = (...parts: Buffer[]): string =>
  createHash('sha256').update(Buffer.concat(parts)).digest('hex');

describe('the digest of weights', () => {
  test('depends on the values in name order and on nothing else', () => {
    const one = safetensors({
      b: { dtype: 'F32', bytes: floats(3) },
      a: { dtype: 'F32', bytes: floats(1, 2) },
    });
    const other = safetensors({
      a: { dtype: 'F32', bytes: floats(1, 2) },
      b: { dtype: 'F32', bytes: floats(3) },
    });

    expect(digestSafetensors(one)).toBe(sha256(floats(1, 2), floats(3)));
    expect(digestSafetensors(other)).toBe(digestSafetensors(one));
  });

  test('takes half precisions as the float32 they stand for', () => {
    const halves = safetensors({
      a: { dtype: 'BF16', bytes: Buffer.from([0x80, 0x3f, 0x00, 0xc0]) },
      b: { dtype: 'F16', bytes: Buffer.from([0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00]) },
    });

    expect(digestSafetensors(halves)).toBe(sha256(floats(1, -2), floats(1, -2, 2 ** -24)));
  });

  test.each([
    ['too short', Buffer.alloc(3)],
    ['longer than itself', Buffer.from('ffffffffffffff7f', 'hex')],
    ['of tensors outside', safetensors({ a: { dtype: 'F32', bytes: floats(1) } }).subarray(0, -1)],
    ['of integers', safetensors({ a: { dtype: 'I64', bytes: Buffer.alloc(8) } })],
  ])('refuses a file that is %s', (_, file) => {
    expect(() => digestSafetensors(file)).toThrow(/^Malformed Tinker message/);
  });
});

describe('reading weights', () => {
  const weights = safetensors({ a: { dtype: 'F32', bytes: floats(1, 2) } });
  const digest = sha256(floats(1, 2));
  const archive = () =>
    packFiles([
      { name: 'adapter_config.json', bytes: Buffer.from('{}') },
      { name: 'adapter_model.safetensors', bytes: weights },
    ]);
  const asGzip = async () => ({ bytes: await archive(), headers: { 'content-type': 'application/gzip' } });

  test('follows a redirect, without showing the key to another host', async () => {
    server.on(`GET ${ROUTE}/archive`, { status: 302, headers: { location: `${store.url}/signed?x=1` } });
    store.on('GET /signed', asGzip);

    expect(await connect().weightsDigest(PATH)).toBe(digest);
    expect(store.seen[0]?.headers['x-api-key']).toBeUndefined();
  });

  test('takes the address from the answer, with the key on the same host', async () => {
    server.on(`GET ${ROUTE}/archive`, { json: { url: `${server.url}/api/v1/archive.tar.gz`, expires: 'x' } });
    server.on('GET archive.tar.gz', asGzip);

    expect(await connect().weightsDigest(PATH)).toBe(digest);
    expect(server.requestsTo('GET archive.tar.gz')[0]?.headers['x-api-key']).toBe('tml-secret');
  });

  test('collects single files where the server gives those', async () => {
    server.on(`GET ${ROUTE}/external_weights_urls`, {
      json: { urls: { 'adapter_model.safetensors': `${store.url}/file` } },
    });
    store.on('GET /file', { bytes: weights });

    const client = connect();

    expect(await client.weightsDigest(PATH)).toBe(digest);
    const [file] = await unpackFiles((await client.downloadWeights(PATH)) ?? new Uint8Array(), () => true);
    expect(file?.bytes.equals(weights)).toBe(true);
  });

  test('gives nothing where the server does not let weights be read', async () => {
    expect(await connect().weightsDigest(PATH)).toBeNull();
    expect(await connect({ readsWeights: false }).downloadWeights(PATH)).toBeNull();
  });

  test('of a deleted checkpoint says so', async () => {
    server.on(`GET ${ROUTE}/archive`, { status: 404, json: { detail: `Checkpoint not found: ${PATH}` } });

    await expect(connect().downloadWeights(PATH)).rejects.toMatchObject({ code: 'checkpoint-missing' });
  });

  test('refuses what is no archive', async () => {
    server.on(`GET ${ROUTE}/archive`, {
      bytes: Buffer.from('not a tar'),
      headers: { 'content-type': 'application/gzip' },
    });

    await expect(connect().weightsDigest(PATH)).rejects.toMatchObject({ code: 'protocol-error' });
  });
});

describe('managing checkpoints', () => {
  test('lists those of a model', async () => {
    server.on('GET training_runs/s:train:0/checkpoints', {
      json: {
        checkpoints: [
          { checkpoint_id: 'weights/a', checkpoint_type: 'training', time: 't', tinker_path: PATH },
        ],
      },
    });

    expect(await connect().listCheckpoints('s:train:0')).toEqual([
      {
        path: PATH,
        checkpointId: 'weights/a',
        type: 'training',
        time: 't',
        sizeBytes: null,
        expiresAt: null,
      },
    ]);
  });

  test('deletes, also what is gone already', async () => {
    server.on(`DELETE ${ROUTE}`, { status: 204 });

    await connect().deleteCheckpoint(PATH);
    await connect().deleteCheckpoint('tinker://s:train:0/weights/other');

    expect(server.seen.filter(({ method }) => method === 'DELETE').map(({ path }) => path)).toEqual([
      `/api/v1/${ROUTE}`,
      '/api/v1/training_runs/s:train:0/checkpoints/weights/other',
    ]);
  });

  test('names the kind of a snapshot whose address has none', async () => {
    await connect({ samplerPathForm: 'short' }).deleteCheckpoint('tinker://model_1/samp-a');

    expect(server.seen.at(-1)?.path).toBe('/api/v1/training_runs/model_1/checkpoints/sampler_weights/samp-a');
  });

  test('deletes the state that was saved beside a snapshot with it', async () => {
    await connect(KNOWN_PROFILES.skyrl).deleteCheckpoint('tinker://model_1/samp-a');
    await connect(KNOWN_PROFILES.skyrl).deleteCheckpoint('tinker://model_1/weights/b');

    expect(server.seen.filter(({ method }) => method === 'DELETE').map(({ path }) => path)).toEqual([
      '/api/v1/training_runs/model_1/checkpoints/weights/samp-a-state',
      '/api/v1/training_runs/model_1/checkpoints/sampler_weights/samp-a',
      '/api/v1/training_runs/model_1/checkpoints/weights/b',
    ]);
  });

  test('sets how long one is kept, where the server knows that', async () => {
    server.on(`PUT ${ROUTE}/ttl`, { status: 200, json: {} });

    await connect().setTtl(PATH, null);
    await connect({ supportsTtl: false }).setTtl(PATH, 3600);

    expect(server.requestsTo(`PUT ${ROUTE}/ttl`).map(({ json }) => json)).toEqual([{ ttl_seconds: null }]);
  });

  test.each(['weights/a', 'tinker://', 'tinker://run', 'tinker://run/weights/../x', 'tinker://run/weights/'])(
    'refuses the address "%s"',
    (path) => {
      expect(() => parseCheckpointPath(path)).toThrow(/is not a checkpoint address/);
    },
  );
});
