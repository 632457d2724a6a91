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
import { loadDataset } from '../../../src/datasets/load-dataset';
import type { HubServer } from '../hub/hub-server';
import { COMMIT, startHubServer } from '../hub/hub-server';

const rows = (count: number) => `{"prompt":"a","completion":"b"}\n`.repeat(count);
const FILES = {
  'main/train.jsonl': rows(3),
  'main/test.jsonl': rows(2),
};

let cacheFolder: string;
let server: HubServer | undefined;

async function serve(
  files: Record<string, string | Buffer> = FILES,
): Promise<{ hub: string; hubUrl: string; cacheFolder: string }> {
  const started = await startHubServer({ kind: 'datasets', files });
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
  const spec = await serve({ ...FILES, 'data/train.parquet': parquet });
  await loadDataset({ ...spec, split: 'train', file: 'data/train.parquet', revision: COMMIT });
  await loadDataset({ ...spec, config: 'main', split: 'test', revision: COMMIT });
  copyCache();
  return spec;
}

const downloads = () => (server?.requests ?? []).filter((request) => request.includes('/resolve/'));

test('a cache that came from elsewhere gives no rows of its own under the name of the hub, whatever its list says', async () => {
  const spec = await serve();
  mkdirSync(join(commitFolder(), 'main'), { recursive: true });
  writeFileSync(join(commitFolder(), 'main/train.jsonl'), rows(1));
  const forged = [{ path: 'main/train.jsonl', size: rows(1).length, sha256: null }];
  writeFileSync(join(commitFolder(), '.listing.json'), JSON.stringify(forged));

  const { rows: read } = await loadDataset({ ...spec, config: 'main', split: 'train', revision: COMMIT });

  expect(read).toHaveLength(3);
  expect(readFileSync(join(commitFolder(), 'main/train.jsonl'), 'utf8')).toBe(rows(3));
});

test('a copied cache is fetched again where the hub does not say the hash of a file, once', async () => {
  const spec = await fetchedAndCopied();
  const wanted = { ...spec, config: 'main', split: 'test', revision: COMMIT };
  const before = downloads().length;

  expect((await loadDataset(wanted)).rows).toHaveLength(2);
  const after = downloads().length;
  expect(after).toBeGreaterThan(before);

  await server?.close();
  expect((await loadDataset(wanted)).rows).toHaveLength(2);
});

test('it is believed without a download where its file has the hash that the hub says', async () => {
  const spec = await fetchedAndCopied();
  const wanted = { ...spec, split: 'train', file: 'data/train.parquet', revision: COMMIT };
  const before = downloads();

  expect((await loadDataset(wanted)).rows).toHaveLength(2);

  expect(downloads()).toEqual(before);
});

test('it gives no file of the same length in the place of one with a hash', async () => {
  const spec = await fetchedAndCopied();
  writeFileSync(join(commitFolder(), 'data/train.parquet'), Buffer.alloc(parquet.length));

  const wanted = { ...spec, split: 'train', file: 'data/train.parquet', revision: COMMIT };

  expect((await loadDataset(wanted)).rows).toHaveLength(2);
});

test.each([
  ['by its name', { file: 'main/test.jsonl' }],
  ['by its split', {}],
])('it is refused where the hub is away, for a file %s', async (_how, change) => {
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

test('pipes and links of a cache are replaced and not read', async () => {
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
  'nothing is written where a link in the place of %s leads',
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
