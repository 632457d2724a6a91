import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseTrainingConfig } from '../../../src/config/parse-training-config';
import type { DatasetConfig } from '../../../src/config/dataset-config';
import { DomainError } from '../../../src/core/errors';
import { findLocalFiles } from '../../../src/datasets/local-files';
import { createRunStore } from '../../../src/stores/run-store';
import type { EvaluateSnapshotDependencies } from '../../../src/training/evaluate-snapshot';
import { evaluateSnapshot } from '../../../src/training/evaluate-snapshot';
import { createPluginLoader } from '../../../src/training/plugin-file';
import { withDigest } from '../../../src/training/record-digest';
import { KeptConnections } from '../../../src/training/reinforcement/kept-connections';

const INPUT = { run: 'sums', step: 4, lineage: 0, samplerPath: 'tinker://s/4', evaluator: 'score' };

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'everstep-evaluate-'));
  const store = createRunStore(root);
  await store.claim('sums', { workflowId: 'train-sums', firstRunId: '1' });
  await store.writeConfig('sums', {
    config: { kind: 'sft', model: 'everstep/tiny' },
    evaluators: { score: { type: 'plugin', evaluator: 'score' } },
  });
});

afterEach(() => rm(root, { recursive: true }));

/** Scores the snapshot where the work ends with this error. */
function evaluateFailing(error: Error, attempt = 1, before = () => Promise.resolve(), input = INPUT) {
  const unused = () => Promise.reject(new Error('not asked for'));
  const dependencies: EvaluateSnapshotDependencies = {
    store: createRunStore(root),
    engines: { connect: unused, urlOf: () => '' },
    readDataset: unused,
    readBenchmarkRows: () => unused,
    tokenizerOf: async () => {
      await before();
      throw error;
    },
    sampling: { connections: new KeptConnections(), open: unused },
    loadPlugins: unused,
    now: () => new Date(0),
  };
  return evaluateSnapshot(dependencies, input, {
    signal: new AbortController().signal,
    ...{ epoch: 1, attempt },
    onProgress: () => undefined,
    mayRunCode: true,
  });
}

const TEST_SET = { type: 'nll', name: 'test', concurrency: 64 };
const UNASKED = new DomainError('bad-dataset', 'no rows today');

/** What becomes of an evaluator of the run, and the files of its data that were asked for. */
async function evaluateReading(evaluators: object, more: { given?: object; mayRunCode?: boolean } = {}) {
  const config = parseTrainingConfig({
    ...{ kind: 'sft', model: 'everstep/tiny', dataset: { path: '/data/train.jsonl' } },
    ...{ plugins: '/away/plug.ts', ...more.given },
  });
  await createRunStore(root).writeConfig('sums', { config, evaluators, renderer: 'role_colon' });
  const [evaluator = ''] = Object.keys(evaluators);
  const read: unknown[] = [];
  const close = () => Promise.resolve();
  const unused = () => Promise.reject(new Error('not asked for'));
  const engine = { client: { createSampler: () => ({ close }), close }, profile: {} };
  const dependencies = {
    store: createRunStore(root),
    engines: { connect: () => Promise.resolve(engine) },
    readDataset: (dataset: DatasetConfig) => {
      read.push(dataset.path);
      return Promise.reject(UNASKED);
    },
    readBenchmarkRows: () => () => Promise.reject(UNASKED),
    tokenizerOf: () => Promise.resolve({}),
    sampling: { connections: new KeptConnections(), open: unused },
    loadPlugins: createPluginLoader(),
    now: () => new Date(0),
  };
  const cell = await evaluateSnapshot(
    dependencies as never,
    { ...INPUT, evaluator },
    {
      ...{ signal: new AbortController().signal, epoch: 1, onProgress: () => undefined },
      mayRunCode: more.mayRunCode ?? true,
    },
  );
  return { cell, read };
}

function refused(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: refused, open '${path}'`), { code, syscall: 'open', path });
}

test.each(['EACCES', 'EROFS', 'EIO', 'EMFILE', 'ENOSPC'])(
  'a store that refuses with %s is no fault of the evaluator: it is tried again',
  async (code) => {
    const path = join(root, 'runs', 'sums', 'evals', '4', 'score', 'journal');

    const evaluating = evaluateFailing(refused(code, path));

    await expect(evaluating).rejects.toMatchObject({
      code: 'store-full',
      retryable: true,
      message: expect.stringMatching(`${path}.+${code}`) as unknown,
    });
  },
);

test.each([
  ['the cell’s journal', ['evals', '4', 'score', 'journal']],
  ['the folder of its step', ['evals', '4']],
])('a store that goes away for a moment costs no evaluation: %s', async (_, inRun) => {
  const path = join(root, 'runs', 'sums', ...inRun);

  await expect(evaluateFailing(refused('ENOENT', path))).rejects.toMatchObject({
    code: 'unreachable',
    retryable: true,
    message: expect.stringContaining(path) as unknown,
  });
  // Where it stays so, it is not the store that is away.
  expect(await evaluateFailing(refused('ENOENT', path), 5)).toHaveProperty('error');
});

test('data of the run that is away for a moment costs no evaluation, however that is told', async () => {
  const path = join(root, 'runs', 'sums', 'data', 'test.jsonl');
  const told = await findLocalFiles(path).catch((error: unknown) => error);

  expect(told).toMatchObject({ code: 'bad-dataset', message: expect.stringContaining(path) as unknown });
  await expect(evaluateFailing(told as Error)).rejects.toMatchObject({
    code: 'unreachable',
    retryable: true,
  });
  expect(await evaluateFailing(told as Error, 5)).toHaveProperty('error', (told as Error).message);
});

test('an evaluation whose run is away waits for it, whatever it failed with', async () => {
  const evaluating = evaluateFailing(new Error('no such data'), 9, async () => {
    await rename(join(root, 'runs'), join(root, 'elsewhere'));
  });

  await expect(evaluating).rejects.toMatchObject({ code: 'unreachable', retryable: true });
});

test('a file of its own that an evaluator may not read is its failure', async () => {
  const cell = await evaluateFailing(refused('EACCES', '/somewhere/else/answers.json'));

  expect(cell).toMatchObject({
    evaluator: 'score',
    scores: [],
    error: expect.stringContaining('EACCES') as unknown,
  });
});

test('a cell whose last worker was lost tells which attempt took it up, and no other does', async () => {
  const folder = join(root, 'runs', 'sums', 'evals', '4', 'score');
  const leave = async () => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'attempt.json'), JSON.stringify({ deaths: 0, bytes: 0 }));
  };
  const broken = new Error('no ruler at hand');
  await leave();

  expect(await evaluateFailing(broken, 2)).toMatchObject({ attempt: 2 });
  // As after a service that was away, and in a workflow of its own.
  expect(await evaluateFailing(broken, 3)).not.toHaveProperty('attempt');
  await leave();
  expect(await evaluateFailing(broken, 1)).not.toHaveProperty('attempt');
});

describe('a config.json that is not the one its run was prepared by', () => {
  const path = () => join(root, 'runs', 'sums', 'config.json');
  const record = { config: { kind: 'sft', model: 'everstep/tiny', learningRate: 1 }, evaluators: {} };
  const changes: [string, () => Promise<void>][] = [
    ['edited', () => writeFile(path(), JSON.stringify({ ...withDigest(record), evaluators: { score: {} } }))],
    ['cut off', () => writeFile(path(), '{"config": {')],
    ['away', () => rm(path())],
    ['a folder', () => rm(path()).then(() => mkdir(path()))],
  ];
  const unasked = new Error('not asked for');

  test.each(changes)('has what is due wait until it is put back: %s', async (_, change) => {
    await change();

    await expect(evaluateFailing(unasked, 9)).rejects.toMatchObject({
      code: 'record-changed',
      message: expect.stringMatching(/config\.json/) as unknown,
      retryable: true,
    });
  });

  test.each(changes)('is told to who asks for an evaluation by name: %s', async (_, change) => {
    await change();
    const asked = { ...INPUT, folder: join(root, 'evals', 'asked', 'score') };

    expect(await evaluateFailing(unasked, 9, undefined, asked)).toMatchObject({
      scores: [],
      error: expect.stringMatching(/config\.json/) as unknown,
    });
  });
});

describe('the test split that a run froze', () => {
  const frozen = () => join(root, 'runs', 'sums', 'data', 'test.jsonl');

  test.each([
    ['as it is recorded', 'data/test.jsonl'],
    ['as releases before recorded it', '/before/it/was/moved/runs/sums/data/test.jsonl'],
  ])('is read where the run is now: %s', async (_, path) => {
    const { cell, read } = await evaluateReading({ test: { ...TEST_SET, dataset: { path } } });

    expect(cell.error).toBe(UNASKED.message);
    expect(read).toEqual([frozen()]);
  });

  test('is none that the config names itself, whatever that is called', async () => {
    const path = '/other/runs/sums/data/test.jsonl';
    const test = { ...TEST_SET, dataset: { path } };

    const { read } = await evaluateReading({ test }, { given: { evaluators: [test] } });

    expect(read).toEqual([path]);
  });
});

test('an evaluator of a plug-in that throws is told with the file and line of its code', async () => {
  const plugins = join(root, 'everstep.config.ts');
  const code = [
    'interface Options { readonly why: string }',
    '',
    'function fail({ why }: Options): never {',
    '  throw new TypeError(why);',
    '}',
    "export const evaluators = { mine: { name: 'mine', kind: 'sampling', evaluate: async () => fail({ why: 'no such row' }) } };",
  ];
  await writeFile(plugins, code.join('\n'));

  const { cell } = await evaluateReading(
    { mine: { type: 'plugin', evaluator: 'mine', options: {}, name: 'mine' } },
    { given: { plugins } },
  );

  expect(cell.error).toMatch(/^no such row \(thrown at .*everstep\.config\.ts:4:\d+\)$/);
});

describe('a plug-in file that is away', () => {
  const dataset = { path: '/data/held-out.jsonl' };

  test.each([
    ['held-out data', { ...TEST_SET, dataset }],
    ['a benchmark of the catalogue', { type: 'benchmark', benchmark: 'gsm8k' }],
    ['a task of ours', { type: 'kind', task: 'blimp', options: {} }],
    ['a grader in Python', { type: 'custom', grader: { python: 'exact' }, dataset }],
  ])('costs no evaluator that has nothing of it: %s', async (_, evaluator) => {
    const { cell } = await evaluateReading({ mine: { ...evaluator, name: 'mine' } });

    // It comes as far as its data.
    expect(cell.error).toBe(UNASKED.message);
  });

  test.each([
    ['its benchmark', { type: 'benchmark', benchmark: 'short_sums' }],
    ['its evaluator', { type: 'plugin', evaluator: 'mine', options: {} }],
    ['its grader', { type: 'custom', grader: 'exact', dataset }],
    ['its task', { type: 'kind', task: 'short_sums', options: {} }],
    ['perhaps its sandboxes', { type: 'benchmark', benchmark: 'humaneval' }],
  ])('is told, and how to measure it later, where an evaluator needs it: %s', async (_, evaluator) => {
    const { cell } = await evaluateReading({ mine: { ...evaluator, name: 'mine' } });

    expect(cell.error).toMatch(
      /plugins: \/away\/plug\.ts cannot be read: it does not exist.*everstep runs eval sums@4 --evaluator mine; when the run has ended: everstep eval --checkpoint sums@4 --evaluator mine$/,
    );
  });

  test('does not keep a worker that runs no code from benchmarks of the catalogue', async () => {
    const { cell } = await evaluateReading(
      { mine: { type: 'benchmark', benchmark: 'gsm8k', name: 'mine' } },
      { mayRunCode: false },
    );

    expect(cell.error).not.toMatch(/plug/);
  });
});
