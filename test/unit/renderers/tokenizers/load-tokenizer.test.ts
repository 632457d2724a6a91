import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { loadTokenizer } from '../../../../src/renderers/tokenizers/load-tokenizer';
import type { HubServer } from '../../hub/hub-server';
import { COMMIT, startHubServer } from '../../hub/hub-server';
import { byteTokenizerDefinition, writeTokenizer } from '../byte-tokenizer-files';

let folder: string;

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('reads the words of a model and its configuration', async () => {
  folder = await writeTokenizer({
    'tokenizer_config.json': { bos_token: '<|bos|>', eos_token: { content: '<|eos|>' }, chat_template: 'T' },
  });

  const tokenizer = await loadTokenizer({ folder });

  expect(tokenizer.vocabSize).toBe(267);
  expect(tokenizer).toMatchObject({
    bosToken: '<|bos|>',
    eosToken: '<|eos|>',
    eosTokenId: 258,
    chatTemplate: 'T',
  });
  expect(tokenizer.isSpecial(258)).toBe(true);
  expect(tokenizer.isSpecial(65)).toBe(false);
});

test.each<[string, (path: string) => unknown]>([
  ['a pipe', (path) => execFileSync('mkfifo', [path])],
  ['a device', (path) => symlink('/dev/zero', path)],
  ['larger than any', (path) => writeFile(path, '').then(() => truncate(path, 257 * 1024 * 1024))],
])('a file that is %s is refused by name', async (_, make) => {
  folder = await writeTokenizer();
  const path = join(folder, 'chat_template.jinja');
  await make(path);

  await expect(loadTokenizer({ folder })).rejects.toThrow(
    `Cannot read ${path}: it is no plain file of at most 256 MiB.`,
  );
});

test('takes special tokens in a text for text, unless told otherwise', async () => {
  folder = await writeTokenizer();
  const tokenizer = await loadTokenizer({ folder });

  const special = tokenizer.encode('he<|end|>', { allowSpecial: true });
  const plain = tokenizer.encode('he<|end|>');

  expect(special).toEqual([256, 263]);
  expect(plain).toHaveLength(8);
  expect(plain.some((token) => tokenizer.isSpecial(token))).toBe(false);
  expect(tokenizer.decode(plain)).toBe('he<|end|>');
  expect(tokenizer.decode(special, { skipSpecial: true })).toBe('he');
  expect(tokenizer.encode('<think>')).toEqual([266]); // an added token that is not special
});

test('a vocabulary may be larger than the stack has room for arguments', async () => {
  const definition = byteTokenizerDefinition();
  const model = definition['model'] as { vocab: Record<string, number> };
  const words = Array.from({ length: 200_000 }, (_, index): [string, number] => [`<${index}>`, 1000 + index]);
  folder = await writeTokenizer({
    'tokenizer.json': {
      ...definition,
      model: { ...model, vocab: { ...model.vocab, ...Object.fromEntries(words) } },
    },
  });

  const tokenizer = await loadTokenizer({ folder });

  expect(tokenizer.vocabSize).toBe(201_000);
  expect(tokenizer.decode(tokenizer.encode('he'))).toBe('he');
});

test('decodes what it encoded, with no clean-up of spaces', async () => {
  folder = await writeTokenizer();
  const tokenizer = await loadTokenizer({ folder });

  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }),
  );
  expect(tokenizer.decode(tokenizer.encode('a , b . do not'))).toBe('a , b . do not');
  expect(tokenizer.decode([])).toBe('');
});

test('prefers chat_template.jinja, and finds the default among named templates', async () => {
  const named = [
    { name: 'tool_use', template: 'tools' },
    { name: 'default', template: 'plain' },
  ];
  folder = await writeTokenizer({ 'tokenizer_config.json': { chat_template: named } });
  expect((await loadTokenizer({ folder })).chatTemplate).toBe('plain');

  await writeFile(join(folder, 'chat_template.jinja'), 'file');
  expect((await loadTokenizer({ folder })).chatTemplate).toBe('file');
});

test('refuses a folder without tokenizer.json, bad JSON and unknown kinds, naming the file', async () => {
  folder = await mkdtemp(join(tmpdir(), 'everstep-tokenizer-'));
  await expect(loadTokenizer({ folder })).rejects.toThrow(`Folder "${folder}" has no tokenizer.json`);

  await writeFile(join(folder, 'tokenizer.json'), '{');
  await expect(loadTokenizer({ folder })).rejects.toThrow('tokenizer.json is not valid JSON');

  await writeFile(
    join(folder, 'tokenizer.json'),
    JSON.stringify({ ...byteTokenizerDefinition(), model: { type: 'Odd' } }),
  );
  await expect(loadTokenizer({ folder })).rejects.toMatchObject({ code: 'unknown-model' });
});

describe('from the hub', () => {
  let server: HubServer;
  const files = { 'tokenizer.json': JSON.stringify(byteTokenizerDefinition()), 'chat_template.jinja': 'T' };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'everstep-tokenizer-'));
  });

  afterEach(async () => {
    await server.close();
  });

  test('fetches the files of a commit once, then needs no network', async () => {
    server = await startHubServer({ kind: 'models', files });
    const source = { hub: 'org/name', cacheFolder: folder, hubUrl: server.url };
    expect((await loadTokenizer(source)).chatTemplate).toBe('T');
    await server.close();

    expect((await loadTokenizer({ ...source, revision: COMMIT })).vocabSize).toBe(267);
  });

  test('takes a branch for what it last stood for while the hub is away, and refuses one it never saw', async () => {
    server = await startHubServer({ kind: 'models', files });
    const source = { hub: 'org/name', cacheFolder: folder, hubUrl: server.url };
    await loadTokenizer(source);
    await server.close();

    expect((await loadTokenizer(source)).vocabSize).toBe(267);
    await expect(loadTokenizer({ ...source, revision: 'v1' })).rejects.toMatchObject({
      code: 'unreachable',
      retryable: true,
    });
  });

  test('what is no commit becomes no folder', async () => {
    server = await startHubServer({ kind: 'models', files, commit: '../../outside' });
    const source = { hub: 'org/name', cacheFolder: folder, hubUrl: server.url };

    await expect(loadTokenizer(source)).rejects.toThrow('The hub names "../../outside" as the commit');
    expect(await readdir(folder)).toEqual([]);
  });

  test('a known branch does not outlive the right to read it', async () => {
    server = await startHubServer({ kind: 'models', files, token: 'hf_secret' });
    const source = { hub: 'org/name', cacheFolder: folder, hubUrl: server.url };
    await loadTokenizer({ ...source, token: 'hf_secret' });

    await expect(loadTokenizer({ ...source, token: 'hf_other' })).rejects.toMatchObject({
      code: 'unauthorized',
    });
  });

  test('completes files a crash left behind', async () => {
    server = await startHubServer({ kind: 'models', files });
    const source = { hub: 'org/name', cacheFolder: folder, hubUrl: server.url };
    await loadTokenizer(source);
    const cached = join(folder, 'tokenizers', 'org--name', COMMIT);
    await rm(join(cached, '.complete'));
    await writeFile(join(cached, 'tokenizer.json'), '{');

    expect((await loadTokenizer(source)).vocabSize).toBe(267);
  });

  test('nothing is written through a link that came with the cache', async () => {
    server = await startHubServer({ kind: 'models', files });
    const source = { hub: 'org/name', cacheFolder: folder, hubUrl: server.url };
    const elsewhere = join(folder, 'elsewhere');
    await mkdir(elsewhere);
    await mkdir(join(folder, 'tokenizers'));
    await symlink(elsewhere, join(folder, 'tokenizers', 'org--name'));

    await expect(loadTokenizer(source)).rejects.toThrow('is a link');

    expect(await readdir(elsewhere)).toEqual([]);
  });

  test('files put into the local folder are used instead of the hub', async () => {
    server = await startHubServer({ kind: 'models', files: {} });
    const source = { hub: 'org/name', cacheFolder: folder, hubUrl: server.url };
    const local = join(folder, 'tokenizers', 'org--name', 'local');
    await expect(loadTokenizer(source)).rejects.toThrow(`into ${local}`);
    await mkdir(local, { recursive: true });
    await writeFile(join(local, 'tokenizer.json'), JSON.stringify(byteTokenizerDefinition()));
    await server.close();

    expect((await loadTokenizer(source)).vocabSize).toBe(267);
  });

  test('refuses names that are no models before asking anyone', async () => {
    server = await startHubServer({ kind: 'models', files });
    const access = { cacheFolder: folder, hubUrl: server.url };

    for (const hub of ['..', '../../etc', 'a/b/c', 'a b', '']) {
      await expect(loadTokenizer({ hub, ...access })).rejects.toMatchObject({ code: 'unknown-model' });
    }
    expect(server.requests).toEqual([]);
  });

  test('names HF_TOKEN for a gated model, the model that does not exist, and the one without tokenizer.json', async () => {
    server = await startHubServer({ kind: 'models', files: { 'README.md': '' }, token: 'hf_secret' });
    const source = { hub: 'org/name', cacheFolder: folder, hubUrl: server.url };

    await expect(loadTokenizer(source)).rejects.toMatchObject({ code: 'unauthorized' });
    await expect(loadTokenizer(source)).rejects.toThrow('Set HF_TOKEN');
    await expect(loadTokenizer({ ...source, token: 'hf_secret' })).rejects.toThrow(
      'has no tokenizer.json or tiktoken.model on the hub',
    );
    await expect(loadTokenizer({ ...source, hub: 'org/other', token: 'hf_secret' })).rejects.toThrow(
      'Model "org/other" is not on the hub',
    );
  });
});
