import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { createCommand } from '../../../src/cli/commands/import';
import { importCookbookConfig } from '../../../src/config/import-cookbook';
import { loadTrainingConfig } from '../../../src/config/load-config';
import { escapeControls } from '../../../src/core/escape-controls';

const COOKBOOK = {
  log_path: '/tmp/run',
  model_name: 'everstep/tiny',
  recipe_name: 'basic',
  dataset_builder: {
    common_config: {
      model_name_for_tokenizer: 'everstep/tiny',
      renderer_name: 'role_colon',
      max_length: 64,
      batch_size: 8,
    },
    file_path: '/data/train.jsonl',
  },
  learning_rate: 0.001,
};

let folder = '';
let stdout = '';
let stderr = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-import-'));
  stdout = '';
  stderr = '';
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

function write(name: string, text: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
}

async function importing(...args: readonly string[]): Promise<void> {
  await createCommand().parseAsync(['cookbook', ...args], { from: 'user' });
}

test('writes a file that train can read, and says what stayed behind there and on standard error', async () => {
  const file = write('config.json', JSON.stringify(COOKBOOK));
  const output = path.join(folder, 'run.yaml');

  await importing(file, '--output', output);

  const config = await loadTrainingConfig({ file: output });
  expect(config).toMatchObject({ model: 'everstep/tiny', batchSize: 8, learningRate: 0.001, maxLength: 64 });
  expect(stderr).toContain('Not carried over: log_path (');
  expect(readFileSync(output, 'utf8')).toContain('#   log_path: ');
  expect(stdout).toContain(`everstep train ${output}`);
});

test('prints the YAML without --output, and one document with --json', async () => {
  const file = write('config.json', JSON.stringify(COOKBOOK));

  await importing(file);
  expect(stdout).toMatch(/^# Made from .*\n(#.*\n)*kind: sft\nmodel: everstep\/tiny\n/);

  stdout = '';
  await importing(file, '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    config: { kind: 'sft', batchSize: 8 },
    notCarried: [{ key: 'log_path' }, { key: 'recipe_name' }],
    output: null,
  });
});

/** All that some reader takes for the end of a line, and what a terminal obeys. */
const BREAKS = ['\n', '\r', '\r\n', '\u0085', '\u2028', '\u2029', '\v', '\f'];
const HOSTILE = [
  ...BREAKS.flatMap((end) => [
    `x${end}plugins: /tmp/evil.mjs${end}#`,
    `x: y${end}engine:${end}  url: http://127.0.0.1:1${end}#`,
    `${end}---${end}plugins: /tmp/evil.mjs`,
    `${end}kind: rl`,
  ]),
  '__proto__',
  '\u001b[2J\u001b]0;title\u0007',
  '\u0000',
  '\ud800',
  '\ufeff# plugins: x',
  '*a',
  '%YAML 1.1',
];

/** Every foreign word that a remark can repeat, set to `word`. */
function withWord(word: string): Record<string, unknown> {
  const builder = COOKBOOK.dataset_builder;
  return {
    ...COOKBOOK,
    ...Object.fromEntries([[word, word]]),
    log_path: word,
    evaluator_builders: [word],
    renderer_name: word,
    dataset_builder: {
      ...builder,
      ...Object.fromEntries([[word, 1]]),
      sources: [{ path: 'a/b', message_field: word }],
      common_config: { ...builder.common_config, ...Object.fromEntries([[word, 1]]) },
    },
  };
}

test('what a foreign config says in its keys and values stays in comments', async () => {
  const meant = path.join(folder, 'meant.yaml');
  await importing(write('config.json', JSON.stringify(COOKBOOK)), '--output', meant);
  const expected = await loadTrainingConfig({ file: meant });

  for (const [index, word] of HOSTILE.entries()) {
    const output = path.join(folder, `${index}.yaml`);
    await importing(write(`config-${index}.json`, JSON.stringify(withWord(word))), '--output', output);

    expect(await loadTrainingConfig({ file: output })).toEqual(expected);
    const text = readFileSync(output, 'utf8');
    expect(escapeControls(text.replaceAll('\n', ''))).toBe(text.replaceAll('\n', ''));
    for (const line of text.split('\n')) expect(line).not.toMatch(/^(plugins|---|engine)/);
  }
  const said = stderr.replaceAll('\n', '');
  expect(escapeControls(said)).toBe(said);
  expect(stderr.split('\n').filter((line) => line !== '' && !line.startsWith('Not carried over: '))).toEqual(
    [],
  );
});

test.each([
  ['recipe.py', /A recipe in Python is not read: start it there once/],
  ['log.eval', /`everstep inspect import \S+log\.eval --output FOLDER`/],
  ['mine.yaml', /A config of a run is started as it is: `everstep train \S+mine\.yaml`/],
  ['notes.txt', /LOG_PATH\/config\.json`\.$/],
])('%s is refused with what can be imported, and how', async (name, remedy) => {
  const thrown: unknown = await importing(write(name, 'import tinker\n')).catch((error: unknown) => error);

  expect(thrown).toMatchObject({ code: 'bad-config', message: expect.stringMatching(remedy) as unknown });
  expect(String(thrown)).toContain('is not JSON');
  expect(String(thrown)).toContain('`everstep import cookbook LOG_PATH/config.json`');
});

test('hostile names of files stay in comments, too', async () => {
  const file = write('a\nplugins: x\r#\u2028b\u001b[2J.json', JSON.stringify(COOKBOOK));
  const output = path.join(folder, "it's\n$(touch x).yaml");

  await importing(file, '--output', output);

  const { plugins } = await loadTrainingConfig({ file: output });
  expect(plugins).toBeUndefined();
  expect(stdout).not.toContain('\u001b');
  expect(stdout).toContain(String.raw`it'\''s`);
});

test.each(HOSTILE)('a value that is carried over is that value in the YAML: %j', async (word) => {
  const hostile = { ...COOKBOOK, model_name: `m${word}` };
  const file = write('config.json', JSON.stringify(hostile));
  await importing(file);

  const { config } = importCookbookConfig(hostile, { source: 'x', folder: process.cwd() });
  expect(parse(stdout)).toEqual(config);
  const text = stdout.replaceAll('\n', '');
  expect(escapeControls(text)).toBe(text);
});

test('overwrites nothing', async () => {
  const file = write('config.json', JSON.stringify(COOKBOOK));
  const output = write('run.yaml', 'mine');

  await expect(importing(file, '--output', output)).rejects.toMatchObject({ code: 'bad-config' });
  expect(readFileSync(output, 'utf8')).toBe('mine');
});

test.each([
  ['a file that is not there', null, 'cannot be read'],
  ['text that is no JSON', '{ model_name: x', 'is not JSON'],
  [
    'a config of reinforcement learning',
    JSON.stringify({ ...COOKBOOK, loss_fn: 'ppo' }),
    'reinforcement learning',
  ],
])('refuses %s', async (_, text, says) => {
  const file = text === null ? path.join(folder, 'none.json') : write('config.json', text);

  await expect(importing(file)).rejects.toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining(says) as string,
  });
  expect(stdout).toBe('');
});
