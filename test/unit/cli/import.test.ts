import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createCommand } from '../../../src/cli/commands/import';
import { loadTrainingConfig } from '../../../src/config/load-config';

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
