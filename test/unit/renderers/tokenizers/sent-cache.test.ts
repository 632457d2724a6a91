import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadTokenizer } from '../../../../src/renderers/tokenizers/load-tokenizer';
import type { HubServer } from '../../hub/hub-server';
import { COMMIT, startHubServer } from '../../hub/hub-server';
import { byteTokenizerDefinition } from '../byte-tokenizer-files';

const DEFINITION = JSON.stringify(byteTokenizerDefinition());
const OTHER_COMMIT = 'c'.repeat(40);

let cacheFolder: string;
let server: HubServer;

const home = () => join(cacheFolder, 'tokenizers', 'org--name');
const downloads = () => server.requests.filter((request) => request.includes('/resolve/'));

async function serve(files: Record<string, string> = { 'tokenizer.json': DEFINITION }) {
  server = await startHubServer({ kind: 'models', files });
  return { hub: 'org/name', cacheFolder, hubUrl: server.url };
}

function plant(folder: string, files: Record<string, string>): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
}

/** As an unpacked archive has it: the same names, content and times. */
function copyCache(): void {
  const copy = `${cacheFolder}.copy`;
  cpSync(cacheFolder, copy, { recursive: true, preserveTimestamps: true });
  rmSync(cacheFolder, { recursive: true });
  renameSync(copy, cacheFolder);
}

beforeEach(async () => {
  cacheFolder = await mkdtemp(join(tmpdir(), 'everstep-tokenizers-'));
});

afterEach(async () => {
  await server.close();
  await rm(cacheFolder, { recursive: true, force: true });
});

test('a template that came with the cache is not that of the model on the hub', async () => {
  const source = await serve();
  const forged = { 'tokenizer.json': DEFINITION, 'chat_template.jinja': 'forged', '.complete': '' };
  plant(join(home(), COMMIT), forged);

  expect((await loadTokenizer(source)).chatTemplate).toBeNull();
  expect((await loadTokenizer({ ...source, revision: COMMIT })).chatTemplate).toBeNull();
});

test('nor is one that was put beside, or in the place of, files that were fetched', async () => {
  const source = await serve({ 'tokenizer.json': DEFINITION, 'chat_template.jinja': 'true' });
  await loadTokenizer(source);
  plant(join(home(), COMMIT), {
    'chat_template.jinja': 'fake',
    'tokenizer_config.json': '{"bos_token":"x"}',
  });

  expect(await loadTokenizer(source)).toMatchObject({ chatTemplate: 'true', bosToken: null });
});

test('a vocabulary of the other kind does not take the place of that of the model', async () => {
  const source = await serve();
  plant(join(home(), COMMIT), { 'tiktoken.model': 'forged' });

  await loadTokenizer(source);
  rmSync(join(home(), COMMIT, 'tokenizer.json'));

  expect((await loadTokenizer(source)).vocabSize).toBe(267);
});

test('a copied cache is fetched again once, and then needs no network', async () => {
  const source = await serve();
  await loadTokenizer(source);
  copyCache();
  const before = downloads().length;

  await loadTokenizer(source);
  const after = downloads().length;
  expect(after).toBeGreaterThan(before);

  await server.close();
  expect((await loadTokenizer(source)).vocabSize).toBe(267);
});

test.each([
  ['a commit', { revision: COMMIT }],
  ['a branch', {}],
])('is refused where the hub is away, for %s, with what can be done', async (_what, revision) => {
  const source = await serve();
  await loadTokenizer(source);
  copyCache();
  await server.close();

  const loading = loadTokenizer({ ...source, ...revision });

  await expect(loading).rejects.toMatchObject({ code: 'unreachable', retryable: true });
  await expect(loading).rejects.toThrow('which were not fetched in this place');
  await expect(loading).rejects.toThrow(`into ${join(home(), 'local')}`);
});

test('a branch that came with the cache stands for no other commit while the hub is away', async () => {
  const source = await serve();
  await loadTokenizer({ ...source, revision: COMMIT });
  plant(join(home(), 'refs'), { main: COMMIT });
  await server.close();

  await expect(loadTokenizer(source)).rejects.toThrow('which were not fetched in this place');
});

test('a link gives no commit the files of another', async () => {
  const source = await serve();
  await loadTokenizer(source);
  symlinkSync(join(home(), COMMIT), join(home(), OTHER_COMMIT));

  await expect(loadTokenizer({ ...source, revision: OTHER_COMMIT })).rejects.toThrow(
    `"${join(home(), OTHER_COMMIT)}" is a link`,
  );
});

test('pipes, folders and links in the place of files are replaced and not read', async () => {
  const source = await serve({ 'tokenizer.json': DEFINITION, 'chat_template.jinja': 'true' });
  const folder = join(home(), COMMIT);
  for (const name of ['tokenizer.json', 'tokenizer_config.json'])
    mkdirSync(join(folder, name, 'x'), { recursive: true });
  execFileSync('mkfifo', [join(folder, '.complete'), join(folder, 'tiktoken.model')]);
  writeFileSync(join(cacheFolder, 'mine'), 'mine');
  symlinkSync(join(cacheFolder, 'mine'), join(folder, 'chat_template.jinja'));

  expect((await loadTokenizer(source)).chatTemplate).toBe('true');
  expect(readFileSync(join(cacheFolder, 'mine'), 'utf8')).toBe('mine');
});
