import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findBenchmark } from '../../../src/evaluation/benchmarks';
import { workOf } from '../../../src/evaluation/runner/planned-work';
import { refuseUselessEndpoint } from '../../../src/cli/commands/eval-endpoint';
import { addresseesOf } from '../../../src/client/check-endpoint';
import { createCommand } from '../../../src/cli/commands/eval';
import { recordOutput } from './recording-output';

const AT = ['--endpoint', 'http://127.0.0.1:1/v1', '--model', 'm'];
const folder = mkdtempSync(join(tmpdir(), 'everstep-eval-command-'));

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function run(...words: string[]) {
  const command = createCommand()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return command.parseAsync(['node', 'eval', ...words, '--data-dir', folder]);
}

test.each([
  [[...AT], 'Name a benchmark'],
  [['gsm9k', ...AT], 'Unknown benchmark "gsm9k". Nearest: gsm8k or '],
  [
    ['gsm9k', 'gsm8k', 'mbppp', ...AT],
    /^Unknown benchmark "gsm9k"\. Nearest: gsm8k or \S+\. Unknown benchmark "mbppp"\. Nearest: mbpp or \S+\. Known: (?!.* Known: )/,
  ],
  [['gsm8k', ...AT, '--set', 'temprature=1'], 'Did you mean "temperature"?'],
  [['gsm8k', ...AT, '--samples', 'many'], 'Give a whole number'],
  [['gsm8k', ...AT, '--api', 'responses'], 'Use one of chat, completions'],
  [['gsm8k', ...AT, '--budget', 'plenty'], 'Give limits such as tokens=1e6,requests=500'],
  [['gsm8k', ...AT, '--budget', 'token=5'], 'Did you mean "budget.tokens"?'],
  [['gsm8k', ...AT, '--budget', 'tokens=1e6,dollars=5'], 'give dollarsPerMillionTokens, too'],
  [['gsm8k', ...AT, '--budget', 'requests=0'], 'budget.requests'],
  [['gsm8k', ...AT, '--budget', 'requests=1.5'], 'budget.requests is 1.5. Give a whole number.'],
  [
    ['gsm8k', ...AT, '--budget', 'tokens=5,tokens=6'],
    '"tokens" is given twice, as 5 and as 6. Leave one out.',
  ],
  [
    ['gsm8k', ...AT, '--budget', 'tokens=5', '--budget', 'tokens=6'],
    '"tokens" is given twice, as 5 and as 6',
  ],
  [['gsm8k', ...AT, '--budget', 'tokens=5', '--budget', 'dollars=6'], 'give dollarsPerMillionTokens, too'],
  [
    ['gsm8k', ...AT, '--budget', 'tokens=5', '--set', 'budget.tokens=6'],
    'budget.tokens is given twice, as 5 by',
  ],
  [['gsm8k', ...AT, '--budget', 'dollarsPerMillionTokens=5'], 'budget: a price alone limits nothing'],
  [['gsm8k', ...AT, '--set', 'budget={}'], 'budget: nothing is limited: give tokens, requests or dollars'],
  [['gsm8k', ...AT, '--renderer', 'chatml'], 'renderer: an endpoint renders conversations itself.'],
  [
    ['gsm8k', ...AT, '--context-window', '5', '--max-tokens', '5'],
    'maxTokens: contextWindow counts prompt and',
  ],
  [
    ['gsm8k', ...AT, '--set', 'topP=0.5', '--set', 'topP=0.6'],
    'topP is given twice, by --set topP=0.5 too. Leave',
  ],
  [['--evaluator', 'test', '--budget', 'tokens=5', '--checkpoint', 'mine'], '--evaluator runs alone'],
  [['--evaluator', 'test'], '--evaluator runs alone'],
  [['gsm8k', '--evaluator', 'test', '--checkpoint', 'mine'], '--evaluator runs alone'],
  [['gsm8k', '--model', 'm'], 'Give one model'],
  [['gsm8k', '--checkpoint', 'nobody@3'], 'nobody'],
])('refuses %j before anything is started', async (words, message) => {
  await expect(run(...words)).rejects.toThrow(message);
});

test.each(['token=5', 'dollar=5,dollarsPerMillionTokens=1', 'dollars=5,dollarPerMillionTokens=1'])(
  'of a misspelt budget (%s) says the misspelt key alone',
  async (budget) => {
    const parts = budget.split(',').flatMap((part) => ['--budget', part]);

    await expect(run('gsm8k', ...AT, ...parts)).rejects.toThrow(
      /^(?!.*(limits nothing|is limited|needs a price))[^]*Unknown key "budget\.\w+"\. Did you mean/s,
    );
  },
);

test.each([
  [['--output', join(folder, 'a-file')], `--output: ${join(folder, 'a-file')} is a file. Name a folder`],
  [['--output', join(folder, 'a-file', 'below')], `--output: ${join(folder, 'a-file')} is a file.`],
  [
    ['--plugins', join(folder, 'nope.ts')],
    `--plugins: ${join(folder, 'nope.ts')} cannot be read: it does not exist. Give`,
  ],
  [
    ['--plugins', join(folder, 'pipe.ts')],
    `--plugins: ${join(folder, 'pipe.ts')} cannot be read: it is no plain file, but a pipe, a socket or a device. Give`,
  ],
  [['--plugins', folder], `--plugins: ${folder} cannot be read: it is a folder. Give`],
  [
    ['--plugins', join(folder, 'loop.ts')],
    `--plugins: ${join(folder, 'loop.ts')} cannot be read: it is a link that leads back to itself. Give`,
  ],
])('refuses %j, which cannot be used, before anything is started', async (words, message) => {
  writeFileSync(join(folder, 'a-file'), '');
  if (!existsSync(join(folder, 'pipe.ts'))) {
    execFileSync('mkfifo', [join(folder, 'pipe.ts')]);
    symlinkSync('loop.ts', join(folder, 'loop.ts'));
  }
  const store = join(folder, 'store-of-files');

  await expect(run('gsm8k', ...AT, ...words, '--store', store)).rejects.toThrow(message);

  expect(existsSync(store)).toBe(false);
});

test('refuses a folder for results that it may not write', async () => {
  // To root every folder is writable.
  if (process.getuid?.() === 0) return;
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o500 });

  await expect(run('gsm8k', ...AT, '--output', join(closed, 'below'))).rejects.toThrow(
    `--output: the folder ${closed} cannot be written. Name another`,
  );
});

test('prints what is stored without starting anything', async () => {
  const results = join(folder, 'results');
  const model = { type: 'endpoint', url: 'http://127.0.0.1:1/v1', api: 'chat', model: 'm' } as const;
  const request = { run: 'x', folder: results, benchmark: 'gsm8k', model, numSamples: 1 };
  const asked = { ...request, concurrency: 1, agentConcurrency: 1 };
  const draft = { dataHash: 'of its commit', exampleCount: 2 };
  // Of a commit of the hub, whose data is the same for ever.
  const source = 'openai/gsm8k@740312add88f (main/test)';
  const { identity } = workOf({ models: { promptFormat: () => 'chat' } }, findBenchmark('gsm8k'), {
    ...{ request: asked, source, draft },
  });
  mkdirSync(join(results, 'gsm8k', 'journal'), { recursive: true });
  writeFileSync(
    join(results, 'gsm8k', 'journal', 'plan.json'),
    JSON.stringify({ request, identity, source, exampleCount: 2 }),
  );
  writeFileSync(
    join(results, 'gsm8k', 'result.json'),
    JSON.stringify({ name: 'gsm8k', score: 0.5, num_errors: 0, identity }),
  );
  const written: string[] = [];
  const write = jest
    .spyOn(process.stdout, 'write')
    .mockImplementation((text) => written.push(String(text)) > 0);

  const quiet = jest.spyOn(process.stderr, 'write').mockReturnValue(true);

  try {
    await run('gsm8k', ...AT, '--run', 'x', '--output', results, '--json');
  } finally {
    write.mockRestore();
    quiet.mockRestore();
  }

  expect(JSON.parse(written.join(''))).toMatchObject({
    run: 'x',
    dir: results,
    benchmarks: [{ name: 'gsm8k', score: 0.5, numErrors: 0 }],
  });
});

test.each([
  [['--limit', '5'], /^--limit is --max-examples here\.$/],
  [['--limit'], /^--limit is --max-examples here\.$/],
  [['--num-samples', '5'], '--num-samples is --samples here.'],
  [['--n', '5'], '--n is --samples here.'],
  [['--epochs', '2'], '--epochs is --samples here.'],
  [['--max_tokens', '5'], '--max_tokens is --max-tokens here.'],
  [['--max-connections', '5'], '--max-connections is --concurrency here.'],
  [['--base-url', 'x'], '--base-url is --endpoint here.'],
  [['--num_fewshot', '5'], '--num_fewshot: benchmarks are asked without shots'],
  [['--num-fewshot', '5'], '--num-fewshot: benchmarks are asked without shots'],
  [['--tasks', 'gsm8k'], 'everstep eval NAME NAME'],
  [['--set', 'limit=5'], '"limit" is --max-examples N here'],
  [['--set', 'samples=4'], '"samples" is --samples N, or --set numSamples=N here'],
  [['--set', 'somethingElse=4'], 'Known here: model, endpoint'],
])('answers %j with what it is called here', async (words, message) => {
  await expect(run('gsm8k', ...AT, ...words)).rejects.toThrow(message);
});

test('refuses an endpoint where nobody listens before anything is started', async () => {
  const store = join(folder, 'store-of-nobody');

  await expect(run('gsm8k', ...AT, '--store', store)).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(
      /http:\/\/127\.0\.0\.1:1\/v1 cannot be reached .* Nothing was started/,
    ) as string,
  });

  expect(existsSync(store)).toBe(false);
});

test('refuses a judge where nobody listens before anything is started', async () => {
  const endpoint = createServer((_, answer) => {
    answer.setHeader('content-type', 'application/json').end('{"data":[{"id":"m"}]}');
  });
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  const { port } = endpoint.address() as AddressInfo;
  const model = ['--model', 'm', '--endpoint', `http://127.0.0.1:${port}/v1`];
  const judge = ['--judge', 'j', '--judge-endpoint', 'http://127.0.0.1:1/v1'];
  const store = join(folder, 'store-of-judge');

  try {
    await expect(run('arena_hard', ...model, ...judge, '--store', store)).rejects.toThrow(
      /^judge: The endpoint at http:\/\/127\.0\.0\.1:1\/v1 cannot be reached .* Nothing was started/,
    );
  } finally {
    endpoint.closeAllConnections();
    endpoint.close();
  }

  expect(existsSync(store)).toBe(false);
});

test('looks at each judge once, and at one without a place where the model is', () => {
  const endpoint = 'http://127.0.0.1:2/v1';
  const judge = ['j', 'j', 'other@http://127.0.0.1:3/v1', { model: 'k', engine: 'http://127.0.0.1:4' }];

  expect(addresseesOf({ endpoint, model: 'm', judge })).toEqual([
    { url: endpoint, model: 'm', isJudge: false },
    { url: endpoint, model: 'j', isJudge: true },
    { url: 'http://127.0.0.1:3/v1', model: 'other', isJudge: true },
  ]);
});

test('waits for an endpoint that has gone away from an evaluation with answers', async () => {
  const results = join(folder, 'begun');
  const shard = join(results, 'gsm8k', 'journal', 'shard-0');
  mkdirSync(shard, { recursive: true });
  const model = { type: 'endpoint', url: 'http://127.0.0.1:1/v1', api: 'chat', model: 'm' };
  const plan = { request: { model }, shards: [{}], exampleCount: 9, numSamples: 1 };
  writeFileSync(join(results, 'gsm8k', 'journal', 'plan.json'), JSON.stringify(plan));
  writeFileSync(
    join(shard, 'progress.json'),
    JSON.stringify({ total: 9, done: 2, rewardSum: 1, rewardSquares: 1 }),
  );
  const { output, stderr } = recordOutput();
  const options = { endpoint: 'http://127.0.0.1:1/v1', model: 'm', run: 'begun', output: results };

  await refuseUselessEndpoint({ benchmarks: ['gsm8k'], options, flags: { dataDir: folder } }, output);

  expect(stderr()).toContain('The evaluation waits for it.');
});

test('refuses an option that is given twice, by itself and with --set', async () => {
  await expect(run('gsm8k', ...AT, '--set', 'endpoint=http://127.0.0.1:2/v1')).rejects.toThrow(
    'endpoint is given twice, as "http://127.0.0.1:1/v1" by its option too. Leave one out.',
  );
});

test('names the tasks of the further kinds among what is known', async () => {
  await expect(run('winogrand', ...AT)).rejects.toThrow(/tasks: winogrande/);
});
