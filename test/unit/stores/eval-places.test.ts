import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listBenchmarks, locateResults } from '../../../src/stores/eval-places';

let store: string;

beforeEach(() => {
  store = mkdtempSync(join(tmpdir(), 'everstep-places-'));
});

afterEach(() => {
  rmSync(store, { recursive: true, force: true });
});

function put(...parts: readonly string[]): void {
  const folder = join(store, ...parts);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'result.json'), '{}');
}

test('finds an eval run, a run at a step, and the last step with a result', async () => {
  put('evals', 'base-eval', 'gsm8k');
  put('runs', 'sft', 'evals', '0', 'gsm8k');
  put('runs', 'sft', 'evals', '9', 'gsm8k');
  put('runs', 'sft', 'evals', '10', 'gsm8k');
  mkdirSync(join(store, 'runs', 'sft', 'evals', '20', 'test'), { recursive: true });

  const folderOf = async (text: string) => (await locateResults(text, store)).folder;

  expect(await folderOf('base-eval')).toBe(join(store, 'evals', 'base-eval'));
  expect(await folderOf('sft@0')).toBe(join(store, 'runs', 'sft', 'evals', '0'));
  expect(await folderOf('sft@009')).toBe(join(store, 'runs', 'sft', 'evals', '9'));
  expect(await folderOf('sft')).toBe(join(store, 'runs', 'sft', 'evals', '10'));
});

test('finds folders, and the folder of one benchmark', async () => {
  put('evals', 'x', 'gsm8k');
  const folder = join(store, 'evals', 'x');

  expect(await locateResults(folder, null)).toEqual({ label: folder, folder, benchmark: null });
  expect(await locateResults(join(folder, 'gsm8k'), store)).toMatchObject({ folder, benchmark: 'gsm8k' });
});

test('refuses a name that means an eval run and a training run', async () => {
  put('evals', 'x', 'gsm8k');
  put('runs', 'x', 'evals', '0', 'gsm8k');

  await expect(locateResults('x', store)).rejects.toMatchObject({
    code: 'bad-config',
    message: expect.stringContaining('x@STEP') as string,
  });
  expect((await locateResults('x@0', store)).folder).toBe(join(store, 'runs', 'x', 'evals', '0'));
});

test.each([
  ['stf@7', /no eval run or training run of that name in .*\. Did you mean "sft@7"\? List/],
  ['nope', /no folder nope, and no eval run or training run of that name/],
  ['sft@7', /no evaluation at step 7\. Evaluated: 0, 10/],
  ['sft@last', /names no step/],
  ['fresh', /no evaluation with examples at any step/],
  ['a b', /no folder a b/],
  ['..@1', /no folder/],
])('refuses %s with a remedy', async (text, message) => {
  put('runs', 'sft', 'evals', '0', 'gsm8k');
  put('runs', 'sft', 'evals', '10', 'gsm8k');
  mkdirSync(join(store, 'runs', 'fresh'));

  await expect(locateResults(text, store)).rejects.toThrow(message);
});

test('a step whose evaluation is due and has written nothing is not one without', async () => {
  put('runs', 'sft', 'evals', '0', 'gsm8k');
  const sent = (step: number, schedules: readonly string[]) =>
    `${JSON.stringify({ step, incarnation: 0, tokens: step, schedules })}\n`;
  writeFileSync(join(store, 'runs', 'sft', 'sent.jsonl'), sent(6, []) + sent(7, ['late']));

  await expect(locateResults('sft@6', store)).rejects.toThrow(/no evaluation at step 6/);
  await expect(locateResults('sft@7', store)).rejects.toThrow(
    'The evaluation of run "sft" at step 7 is due and has written nothing yet.',
  );
});

test('says that a file is no folder, and that a bucket is not read', async () => {
  writeFileSync(join(store, 'result.json'), '{}');

  await expect(locateResults(join(store, 'result.json'), store)).rejects.toThrow(/is a file/);
  await expect(locateResults('run', 's3://bucket/x')).rejects.toThrow(/s3:\/\/bucket\/x cannot be read/);
});

test('a link that leads back to itself is named where it is asked for, and passed over in lists', async () => {
  put('evals', 'x', 'gsm8k');
  for (const place of [
    ['evals', 'loop'],
    ['evals', 'x', 'loop'],
  ])
    symlinkSync('loop', join(store, ...place));
  const loop = join(store, 'evals', 'loop');

  for (const asked of ['loop', loop, `${loop}/gsm8k`])
    await expect(locateResults(asked, store)).rejects.toMatchObject({
      code: 'store-conflict',
      message: expect.stringContaining(
        'is a link that leads back to itself, or lies behind one. Move the link away',
      ) as string,
    });
  expect((await locateResults('x', store)).folder).toBe(join(store, 'evals', 'x'));
  expect(await listBenchmarks(join(store, 'evals', 'x'))).toMatchObject({ finished: ['gsm8k'] });
});

test('tells finished benchmarks from those under way, and both from other folders', async () => {
  put('e', 'gsm8k');
  put('e', 'arithmetic');
  put('e', '.hidden');
  mkdirSync(join(store, 'e', 'ifeval', 'journal'), { recursive: true });
  mkdirSync(join(store, 'e', 'logs'));
  mkdirSync(join(store, 'e', 'test', 'journal'), { recursive: true });
  writeFileSync(join(store, 'e', 'test', 'cell.json'), '{}');

  expect(await listBenchmarks(join(store, 'e'))).toEqual({
    finished: ['arithmetic', 'gsm8k'],
    unfinished: ['ifeval'],
    likelihoods: [],
    cells: ['test'],
  });
  expect(await listBenchmarks(join(store, 'nope'))).toEqual({
    finished: [],
    unfinished: [],
    likelihoods: [],
    cells: [],
  });
});

function putEval(name: string, checkpoint: string, { isFinished = true } = {}): string {
  const folder = join(store, 'evals', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'metadata.json'), JSON.stringify({ run_id: name, checkpoint_name: checkpoint }));
  if (isFinished) put('evals', name, 'gsm8k');
  return folder;
}

test('finds what one eval run gave of a step that the run itself did not evaluate', async () => {
  put('runs', 'sft', 'evals', '0', 'gsm8k');
  const folder = putEval('sft-5-ab', 'sft@5');
  putEval('sft-5-begun', 'sft@5', { isFinished: false });
  putEval('sft-0-ab', 'sft@0');

  expect(await locateResults('sft@5', store)).toEqual({ label: 'sft@5', folder, benchmark: null });
  expect((await locateResults('sft@0', store)).folder).toBe(join(store, 'runs', 'sft', 'evals', '0'));
});

test('finds an eval run of a checkpoint whose run is gone, and refuses to choose among several', async () => {
  const folder = putEval('one', 'gone@5');
  expect((await locateResults('gone@5', store)).folder).toBe(folder);

  putEval('two', 'gone@5');
  await expect(locateResults('gone@5', store)).rejects.toThrow(
    'several eval runs: one, two. Name one of them',
  );
});

test('held-out rollouts are a result where there is no benchmark, of the run or of an eval run', async () => {
  for (const step of ['0', '10', '20', '30']) {
    put('runs', 'rl', 'evals', step, 'environments');
    mkdirSync(join(store, 'runs', 'rl', 'evals', step, 'environments', 'rollouts'));
  }
  const own = (step: string) => join(store, 'runs', 'rl', 'evals', step);
  const folder = putEval('rl-20-ab', 'rl@20');
  const folderOf = async (text: string) => (await locateResults(text, store)).folder;

  expect(await folderOf('rl@10')).toBe(own('10'));
  expect(await folderOf('rl@20')).toBe(folder);
  expect(await folderOf('rl')).toBe(own('30'));
  put('runs', 'rl', 'evals', '10', 'gsm8k');
  expect(await folderOf('rl')).toBe(own('10'));
});

test.each([
  ['sft@10', 'Evaluate it with: everstep eval NAME --checkpoint sft@10'],
  [
    'sft@299',
    'Evaluated: 0. Its weights are not kept; those of these steps are: 0, 10, 300. Evaluate one with: everstep eval NAME --checkpoint sft@300',
  ],
])('a step without an evaluation is told with what can be evaluated: %s', async (asked, remedy) => {
  put('runs', 'sft', 'evals', '0', 'gsm8k');
  const run = { config: { engine: {}, loraRank: 8 }, engineUrl: 'http://127.0.0.1:1', initialPath: null };
  writeFileSync(join(store, 'runs', 'sft', 'config.json'), JSON.stringify(run));
  const rows = [
    { step: 0, name: '0', state_path: 'a', sampler_path: null },
    { step: 10, name: '10', state_path: null, sampler_path: 'b' },
    { step: 20, name: '20', state_path: null, sampler_path: null },
    { step: 300, name: '300', state_path: 'c', sampler_path: 'd' },
  ];
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(join(store, 'runs', 'sft', 'checkpoints.jsonl'), text);

  await expect(locateResults(asked, store)).rejects.toThrow(remedy);
});
