import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvironmentConfig } from '../../../../src/config/environment-config';
import { DomainError } from '../../../../src/core/errors';
import { NO_PLUGINS } from '../../../../src/evaluation/plugins';
import type * as sandboxModule from '../../../../src/sandboxes/process-sandboxes';
import { processSandboxes } from '../../../../src/sandboxes/process-sandboxes';
import { buildEnvironments } from '../../../../src/training/environments/build-environments';
import type * as codeModule from '../../../../src/training/environments/code-environments';
import { buildCode, fenced, replyIn } from './code-replies';

const ROWS = [
  { prompt: 'Add one.', test_list: ['assert f(1) == 2', 'assert f(5) == 6'] },
  { prompt: 'def two():\n    """ 2 """\n', entry_point: 'two', test: 'def check(c):\n    assert c() == 2\n' },
  { prompt: 'Echo.', input_output: JSON.stringify({ inputs: ['a\n', 'b\n'], outputs: ['a', 'b'] }) },
];

let folder: string;
let path: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'code-environments-'));
  path = join(folder, 'rows.jsonl');
  writeFileSync(path, ROWS.map((row) => `${JSON.stringify(row)}\n`).join(''));
});

afterEach(async () => {
  processSandboxes.choose('auto');
  await processSandboxes.close();
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const build = async (more: object = {}) => buildCode({ path, ...more });
const reply = async (question: string, content: string, more: object = {}) =>
  replyIn(await build(more), question, content);

test.each([
  ['assertions', 'Add one', 'def f(n):\n    return n + 1'],
  ['the check of a function', 'def two', 'def two():\n    return 2'],
  ['inputs and outputs', 'Echo', 'print(input())'],
])('a program that passes its tests, here %s, is worth 1', async (_, question, code) => {
  expect(await reply(question, fenced(code))).toMatchObject({
    reward: 1,
    isDone: true,
    metrics: { correct: 1, format: 1, tests_passed: 1, limit_exceeded: 0 },
  });
});

test('passing some of the tests is worth nothing, or the share of them', async () => {
  const half = fenced('def f(n):\n    return 2');

  expect(await reply('Add one', half)).toMatchObject({ reward: 0, metrics: { tests_passed: 0.5 } });
  expect(await reply('Add one', half, { reward: 'fraction' })).toMatchObject({ reward: 0.5 });
});

test('a reply without a code block costs the format penalty, and is not run', async () => {
  expect(await reply('Add one', 'def f(n): return n + 1', { formatPenalty: 0.25 })).toMatchObject({
    reward: -0.25,
    metrics: { correct: 0, format: 0 },
    answer: null,
  });
});

test('where the code block is optional, a reply is code as a whole', async () => {
  const step = await reply('Add one', 'def f(n):\n    return n + 1', { codeBlock: 'optional' });

  expect(step).toMatchObject({ reward: 1, metrics: { format: 1 } });
});

test('a program that exceeds a limit is worth 0, with the limit named', async () => {
  const step = await reply(
    'Add one',
    fenced('def f(n):\n    return len([b"x" * 10 ** 8] * 1 + [bytearray(10 ** 10)])'),
  );

  expect(step).toMatchObject({ reward: 0, metrics: { limit_exceeded: 1 } });
  expect(step.logs?.['explanation']).toContain('memory');
});

test('a sandbox that is lost again and again is tried again, and no verdict', async () => {
  let openCount = 0;
  const lost = () => Promise.reject(new DomainError('sandbox-lost', 'gone', { retryable: true }));
  const file = join(folder, 'fragile.js');
  processSandboxes.bring({
    file,
    factory: () => {
      openCount += 1;
      const isLost = openCount <= 4;
      let word = '';
      return {
        kind: 'fragile',
        exec: (_, { stdin = '' } = {}) => {
          word = stdin.trim();
          if (isLost) return lost();
          const stdout = `${word}${JSON.stringify({ passed: 2, failure: null })}`;
          const result = { exitCode: 0, stdout, stderr: '', limit: null, seconds: 0 };
          return Promise.resolve({ ...result, isStdoutCut: false, isStderrCut: false });
        },
        writeFile: () => Promise.resolve(),
        readFile: () => Promise.resolve(new Uint8Array()),
        close: () => Promise.resolve(),
      };
    },
  });

  const step = await reply('Add one', fenced('def f(n):\n    return n + 1'));

  expect(step).toMatchObject({ reward: 1 });
  expect(openCount).toBeGreaterThan(4);
});

test('a run is refused where the sandbox that is asked for is not there, with the remedy', async () => {
  await jest.isolateModulesAsync(async () => {
    // Modules of their own: a plug-in's sandboxes of this process go before all others.
    const fresh = jest.requireActual<typeof sandboxModule>('../../../../src/sandboxes/process-sandboxes');
    const own = jest.requireActual<typeof codeModule>(
      '../../../../src/training/environments/code-environments',
    );
    fresh.processSandboxes.choose('docker');
    const building = own.codeEnvironments({ path, reward: 'all', codeBlock: 'required', testSize: 0 }, () =>
      Promise.reject(new Error('nothing is read')),
    );

    await expect(building).rejects.toThrow(
      /EVERSTEP_SANDBOX=docker: no docker: .*(install|start|pull).*auto/,
    );
  });
});

test('a file that is not there is refused by its key', async () => {
  await expect(build({ path: join(folder, 'nofile.jsonl') })).rejects.toMatchObject({
    code: 'bad-dataset',
    retryable: false,
    message: expect.stringMatching(
      /^environment\.path: file ".*nofile\.jsonl" cannot be read: it does not exist\. .*folder of the config file/,
    ) as unknown,
  });
});

test('rows that are neither here nor on the hub may be given as a file', async () => {
  const away = new DomainError('unreachable', 'MBPP is away.', { retryable: true });
  const config = EnvironmentConfig.parse({ type: 'code' });
  const sources = { plugins: NO_PLUGINS, seed: 0, readBenchmarkRows: () => Promise.reject(away) };
  await expect(buildEnvironments(config, sources)).rejects.toMatchObject({
    ...{ code: 'unreachable', retryable: true },
    message: 'MBPP is away. Or name a file of your own under environment.path.',
  });
});

describe('what a row says and nobody would ask', () => {
  const tests = { test_list: ['assert f(1) == 2'] };
  const ownFile = (row: object) => {
    const file = join(folder, 'own.jsonl');
    writeFileSync(file, JSON.stringify(row));
    return build({ path: file });
  };

  test.each([
    [
      { prompt: 'Add one', system: 'In French.', ...tests },
      /line 1: field "system": it would not be asked: of this row "prompt" is/,
    ],
    [
      { messages: [{ role: 'user', content: 'Add one' }], prompt: 'Add two', ...tests },
      /field "prompt": it would not be asked/,
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'image' }] }], ...tests },
      /field "messages\[0\]\.content\[0\]\.type": expected text/,
    ],
  ])('is refused: %j', async (row, words) => {
    await expect(ownFile(row)).rejects.toThrow(words);
  });

  test('is asked with the conversation: its calls, and its tools', async () => {
    const call = { id: 'c', type: 'function', function: { name: 'run', arguments: '{}' } };
    const messages = [
      { role: 'user', content: 'Add one' },
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', content: 'ok', tool_call_id: 'c' },
    ];
    const tools = [{ type: 'function', function: { name: 'run', description: 'd' } }];
    const dataset = await ownFile({ messages, tools, prompt: 'Add one', ...tests });

    const observed = await dataset.groupAt(0).make(0).initialObservation();
    expect(observed.messages[1]?.toolCalls).toEqual([{ id: 'c', name: 'run', arguments: '{}' }]);
    expect(observed.tools).toEqual([{ name: 'run', description: 'd' }]);
  });
});
