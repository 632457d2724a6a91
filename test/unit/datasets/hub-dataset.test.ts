import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadDataset } from '../../../src/datasets/load-dataset';
import type { HubServer, HubServerOptions } from '../hub/hub-server';
import { COMMIT, startHubServer } from '../hub/hub-server';

const rows = (count: number) => `{"prompt":"a","completion":"b"}\n`.repeat(count);
const FILES = {
  'README.md': '# x',
  'main/train.jsonl': rows(3),
  'main/test.jsonl': rows(2),
  'socratic/train.jsonl': rows(4),
};

let cacheFolder: string;
let server: HubServer | undefined;

async function serve(
  options: Partial<HubServerOptions> = {},
): Promise<{ hub: string; hubUrl: string; cacheFolder: string }> {
  const started = await startHubServer({ kind: 'datasets', files: FILES, ...options });
  server = started;
  return { hub: 'org/name', hubUrl: started.url, cacheFolder };
}

beforeEach(async () => {
  cacheFolder = await mkdtemp(join(tmpdir(), 'everstep-hub-'));
});

afterEach(async () => {
  await server?.close();
  await rm(cacheFolder, { recursive: true, force: true });
});

test('reads the split of a subset and records the commit', async () => {
  const spec = await serve();

  const { rows: read, source } = await loadDataset({ ...spec, config: 'main', split: 'train' });

  expect(read).toHaveLength(3);
  expect(source).toEqual({
    description: `org/name@${COMMIT.slice(0, 12)} (main/train)`,
    files: ['main/train.jsonl'],
    revision: COMMIT,
  });
});

test('a pinned commit needs no network once its files are cached', async () => {
  const spec = await serve();
  const pinned = { ...spec, config: 'main', split: 'test', revision: COMMIT };
  const first = await loadDataset(pinned);
  await server?.close();

  expect(await loadDataset(pinned)).toEqual(first);
});

test('fetches nothing twice', async () => {
  const spec = await serve();
  await loadDataset({ ...spec, config: 'main', split: 'test' });
  const before = server?.requests.length;

  await loadDataset({ ...spec, config: 'main', split: 'test', revision: 'v1' });

  expect(server?.requests.slice(before)).toEqual(['GET /api/datasets/org/name/revision/v1']);
});

test('reads a file by its name, as Parquet too', async () => {
  const parquet = readFileSync(join(__dirname, 'fixtures/two-conversations.parquet'));
  const spec = await serve({ files: { 'data/odd.parquet': parquet } });

  const { rows: read } = await loadDataset({ ...spec, split: 'train', file: 'data/odd.parquet' });

  expect(read).toHaveLength(2);
});

test.each([
  ['not those of the commit', 0, 'other bytes than its commit names'],
  ['more than the hub lists', 1, 'more than its'],
])('keeps no file whose bytes are %s', async (_what, more, reason) => {
  const parquet = readFileSync(join(__dirname, 'fixtures/two-conversations.parquet'));
  const damaged = 'x'.repeat(parquet.length + more);
  const spec = await serve({ files: { 'data/train.parquet': parquet }, damaged });

  const loading = loadDataset({ ...spec, split: 'train' });

  await expect(loading).rejects.toMatchObject({ code: 'unreachable', retryable: true });
  await expect(loading).rejects.toThrow(reason);
  const kept = await readdir(join(cacheFolder, 'datasets/org--name', COMMIT, 'data'));
  expect(kept).toEqual([]);
});

test('a hub whose commit is no commit names no folder with it', async () => {
  const spec = await serve({ commit: '../../outside' });

  await expect(loadDataset({ ...spec, config: 'main', split: 'train' })).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('HF_ENDPOINT') as string,
  });

  expect(await readdir(cacheFolder)).toEqual([]);
});

test('a gated dataset names HF_TOKEN, and the token opens it', async () => {
  const spec = await serve({ token: 'hf_secret' });
  const wanted = { ...spec, config: 'main', split: 'train' };

  await expect(loadDataset(wanted)).rejects.toMatchObject({ code: 'unauthorized' });
  await expect(loadDataset(wanted)).rejects.toThrow('Set HF_TOKEN');
  await expect(loadDataset({ ...wanted, token: 'hf_other' })).rejects.toThrow('Ask for access');
  await expect(loadDataset({ ...wanted, token: 'secret' })).rejects.toThrow('does not begin with "hf_"');
  expect((await loadDataset({ ...wanted, token: 'hf_secret' })).rows).toHaveLength(3);
});

test.each([
  ['an unknown revision', { revision: 'nope' }, 'at revision "nope" is not on the hub'],
  ['an unknown dataset', { hub: 'org/other' }, 'Dataset "org/other" is not on the hub'],
  ['an unknown file', { file: 'x.jsonl' }, 'has no file "x.jsonl". Its files: README.md, main/train.jsonl'],
  ['an unknown split', { split: 'dev' }, 'has no data file for split "dev". Its data files: main/test.jsonl'],
  [
    'an ambiguous split',
    {},
    'more than one set of files for split "train": main/train.jsonl, socratic/train.jsonl',
  ],
  ['a file outside the cache', { file: '../../../x.jsonl' }, 'leaves the dataset'],
])('refuses %s', async (_, change, message) => {
  const spec = await serve();

  await expect(loadDataset({ ...spec, split: 'train', ...change })).rejects.toThrow(message);
});

test('says what to do where the hub cannot be reached', async () => {
  const spec = await serve();
  await server?.close();

  const loading = loadDataset({ ...spec, split: 'train' });

  await expect(loading).rejects.toMatchObject({ code: 'unreachable', retryable: true });
  await expect(loading).rejects.toThrow('a revision given as a commit needs none once its files are cached');
});

test('a download that stops coming fails after a while, saying so, and is to be tried again', async () => {
  const spec = await serve({ stalls: true });
  const patience = { idleMs: 200, attempts: 2, pauseMs: 1 };

  const loading = loadDataset({ ...spec, config: 'main', split: 'train', patience });

  await expect(loading).rejects.toMatchObject({ code: 'unreachable', retryable: true });
  await expect(loading).rejects.toThrow('could not be fetched: nothing came for 0.2 s. Check the network');
});
