import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseFiles } from '../../../src/datasets/hub-file-choice';
import { loadDataset } from '../../../src/datasets/load-dataset';
import type { HubServer, HubServerOptions } from './hub-server';
import { COMMIT, startHubServer } from './hub-server';

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

describe('a cache that came from elsewhere', () => {
  const parquet = readFileSync(join(__dirname, 'fixtures/two-conversations.parquet'));
  const commitFolder = () => join(cacheFolder, 'datasets/org--name', COMMIT);

  /** As an unpacked archive has it: the same names, content and times. */
  function copyCache(): void {
    const copy = `${cacheFolder}.copy`;
    cpSync(cacheFolder, copy, { recursive: true, preserveTimestamps: true });
    rmSync(cacheFolder, { recursive: true });
    renameSync(copy, cacheFolder);
  }

  async function fetchedAndCopied(): Promise<Awaited<ReturnType<typeof serve>>> {
    const spec = await serve({ files: { ...FILES, 'data/train.parquet': parquet } });
    await loadDataset({ ...spec, split: 'train', file: 'data/train.parquet', revision: COMMIT });
    await loadDataset({ ...spec, config: 'main', split: 'test', revision: COMMIT });
    copyCache();
    return spec;
  }

  const downloads = () => (server?.requests ?? []).filter((request) => request.includes('/resolve/'));

  test('gives no rows of its own under the name of the hub, whatever its list says', async () => {
    const spec = await serve();
    mkdirSync(join(commitFolder(), 'main'), { recursive: true });
    writeFileSync(join(commitFolder(), 'main/train.jsonl'), rows(1));
    const forged = [{ path: 'main/train.jsonl', size: rows(1).length, sha256: null }];
    writeFileSync(join(commitFolder(), '.listing.json'), JSON.stringify(forged));

    const { rows: read } = await loadDataset({ ...spec, config: 'main', split: 'train', revision: COMMIT });

    expect(read).toHaveLength(3);
    expect(readFileSync(join(commitFolder(), 'main/train.jsonl'), 'utf8')).toBe(rows(3));
  });

  test('is fetched again where the hub does not say the hash of a file, once', async () => {
    const spec = await fetchedAndCopied();
    const wanted = { ...spec, config: 'main', split: 'test', revision: COMMIT };
    const before = downloads().length;

    expect((await loadDataset(wanted)).rows).toHaveLength(2);
    const after = downloads().length;
    expect(after).toBeGreaterThan(before);

    await server?.close();
    expect((await loadDataset(wanted)).rows).toHaveLength(2);
  });

  test('is believed without a download where its file has the hash that the hub says', async () => {
    const spec = await fetchedAndCopied();
    const wanted = { ...spec, split: 'train', file: 'data/train.parquet', revision: COMMIT };
    const before = downloads();

    expect((await loadDataset(wanted)).rows).toHaveLength(2);

    expect(downloads()).toEqual(before);
  });

  test('gives no file of the same length in the place of one with a hash', async () => {
    const spec = await fetchedAndCopied();
    writeFileSync(join(commitFolder(), 'data/train.parquet'), Buffer.alloc(parquet.length));

    const wanted = { ...spec, split: 'train', file: 'data/train.parquet', revision: COMMIT };

    expect((await loadDataset(wanted)).rows).toHaveLength(2);
  });

  test.each([
    ['by its name', { file: 'main/test.jsonl' }],
    ['by its split', {}],
  ])('is refused where the hub is away, for a file %s', async (_how, change) => {
    const spec = await fetchedAndCopied();
    await server?.close();

    const loading = loadDataset({ ...spec, config: 'main', split: 'test', revision: COMMIT, ...change });

    await expect(loading).rejects.toMatchObject({ code: 'unreachable', retryable: true });
    await expect(loading).rejects.toThrow(
      `There are files in "${commitFolder()}" which were not fetched in this place`,
    );
  });

  test('a file that was exchanged after it was fetched is noticed, whatever time it says', async () => {
    const spec = await serve();
    const wanted = { ...spec, config: 'main', split: 'test', revision: COMMIT };
    await loadDataset(wanted);
    const file = join(commitFolder(), 'main/test.jsonl');
    const { length } = readFileSync(file);
    writeFileSync(file, `{"prompt":"a","completion":"c"}\n`.repeat(2).padEnd(length));
    utimesSync(file, 0, 0);

    const { rows: read } = await loadDataset(wanted);

    expect(JSON.stringify(read)).not.toContain('"c"');
    expect(readFileSync(file, 'utf8')).toBe(rows(2));
  });

  test('has pipes and links, which are replaced and not read', async () => {
    const spec = await serve();
    mkdirSync(join(commitFolder(), 'main'), { recursive: true });
    execFileSync('mkfifo', [join(commitFolder(), '.listing.json'), join(commitFolder(), 'main/test.jsonl')]);
    writeFileSync(join(cacheFolder, 'mine'), 'mine');
    symlinkSync(join(cacheFolder, 'mine'), join(commitFolder(), 'main/train.jsonl'));

    const wanted = { ...spec, config: 'main', revision: COMMIT };

    expect((await loadDataset({ ...wanted, split: 'test' })).rows).toHaveLength(2);
    expect((await loadDataset({ ...wanted, split: 'train' })).rows).toHaveLength(3);
    expect(readFileSync(join(cacheFolder, 'mine'), 'utf8')).toBe('mine');
  });

  test.each(['org--name', `org--name/${COMMIT}`, `org--name/${COMMIT}/main`])(
    'writes nothing where a link in the place of %s leads',
    async (place) => {
      const spec = await serve();
      const elsewhere = join(cacheFolder, 'elsewhere');
      mkdirSync(elsewhere);
      const link = join(cacheFolder, 'datasets', place);
      mkdirSync(join(link, '..'), { recursive: true });
      symlinkSync(elsewhere, link);

      const loading = loadDataset({ ...spec, split: 'train', file: 'main/train.jsonl', revision: COMMIT });

      await expect(loading).rejects.toThrow(`"${link}" is a link`);
      expect(await readdir(elsewhere)).toEqual([]);
    },
  );
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

const SHARDS = ['data/train-00000-of-00002.parquet', 'data/train-00001-of-00002.parquet'];
test.each([
  [[...SHARDS, 'data/test-00000-of-00001.parquet'], undefined, 'train', SHARDS],
  [['main/train/0000.parquet', 'socratic/train/0000.parquet'], 'main', 'train', ['main/train/0000.parquet']],
  [['train.jsonl', 'train_extra.json'], undefined, 'train', ['train.jsonl']],
  [
    ['data/train_sft-00000-of-00001.parquet', 'data/train_gen-00000-of-00001.parquet'],
    undefined,
    'train_gen',
    ['data/train_gen-00000-of-00001.parquet'],
  ],
  [['default/partial-train/0000.parquet'], 'default', 'train', ['default/partial-train/0000.parquet']],
  [['en/train.jsonl', 'en-US/train.jsonl'], 'en', 'train', ['en/train.jsonl']],
  [['alpaca_data.json', 'dataset_infos.json', '.cache/x.json'], undefined, 'train', ['alpaca_data.json']],
])('finds among %j, for subset %s, the split %s', (paths, config, split, expected) => {
  expect(chooseFiles(paths, { hub: 'org/name', split, ...(config ? { config } : {}) })).toEqual(expected);
});

test.each([
  [['data/train_sft-00000-of-00001.parquet', 'data/train_gen-00000-of-00001.parquet'], 'train'],
  [['a.jsonl', 'b.jsonl'], 'train'],
  [['alpaca_data.json'], 'test'],
])('refuses to guess among %j for the split %s', (paths, split) => {
  expect(() => chooseFiles(paths, { hub: 'org/name', split })).toThrow(/more than one set|no data file/);
});
