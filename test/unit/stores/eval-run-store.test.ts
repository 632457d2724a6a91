import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EvalStore } from '../../../src/stores/eval-run-store';
import { rowsOf, storeBenchmark } from '../evaluation/compare/stored-results';

let root: string;
let store: EvalStore;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'everstep-evals-'));
  store = new EvalStore(root);
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

test('creates, finalizes and reads a run', async () => {
  const run = await store.createRun({
    modelName: 'everstep/tiny',
    checkpointPath: 'tinker://x',
    checkpointName: '000010',
    benchmarks: ['gsm8k'],
    config: { temperature: 0 },
  });
  storeBenchmark(store.runDir(run), 'gsm8k', { rows: rowsOf([1, 0]) });
  storeBenchmark(store.runDir(run), 'mbpp', { rows: rowsOf([1, 1]) });

  const final = await store.finalizeRun(run);

  expect(run).toMatch(/^000010_\d{8}_\d{6}_[0-9a-f]{6}$/);
  expect(final).toMatchObject({
    ...{ run_id: run, model_name: 'everstep/tiny', checkpoint_path: 'tinker://x', checkpoint_name: '000010' },
    ...{ benchmarks: ['gsm8k', 'mbpp'], config: { temperature: 0 }, scores: { gsm8k: 0.5, mbpp: 1 } },
  });
  expect(JSON.parse(readFileSync(join(store.runDir(run), 'metadata.json'), 'utf8'))).toEqual(final);
  expect(await store.readRun(run)).toEqual(final);
  expect(await store.scores(run)).toEqual({ gsm8k: 0.5, mbpp: 1 });
  expect((await store.readSummary(run))?.['mbpp']).toMatchObject({ score: 1, num_examples: 2 });
  expect((await store.readResult(run, 'gsm8k'))?.num_correct).toBe(1);
  expect(await store.listBenchmarks(run)).toEqual(['gsm8k', 'mbpp']);
  expect((await store.readTrajectory(run, 'gsm8k', 1))?.example_id).toBe('e1');
  expect(await store.readTrajectory(run, 'gsm8k', 2)).toBeNull();
  expect(
    (await store.readTrajectories(run, 'gsm8k', { correctOnly: true })).map((row) => row.example_id),
  ).toEqual(['e0']);
});

test('gives every run a name of its own, and refuses one that is taken', async () => {
  const first = await store.createRun({ modelName: 'm' });
  const second = await store.createRun({ modelName: 'm' });

  expect(first).not.toBe(second);
  expect(first).toMatch(/^base_/);
  await expect(store.createRun({ modelName: 'm', runId: first })).rejects.toMatchObject({
    code: 'run-exists',
  });
  expect(await store.createRun({ modelName: 'other', runId: first, resume: true })).toBe(first);
  expect((await store.readRun(first)).model_name).toBe('m');
});

test('makes a name of a checkpoint whose own name is no folder', async () => {
  const run = await store.createRun({ modelName: 'm', checkpointName: 'tinker://a/b c' });

  expect(run).toMatch(/^tinker-a-b-c_/);
});

test('lists what is in the folders, the newest first, and passes over what is none of its own', async () => {
  jest.useFakeTimers({ now: new Date('2026-01-02T00:00:00Z'), doNotFake: ['nextTick', 'setImmediate'] });
  await store.createRun({ modelName: 'late', runId: 'a-late' });
  jest.setSystemTime(new Date('2026-01-01T00:00:00Z'));
  await store.createRun({ modelName: 'early', runId: 'b-early' });
  jest.useRealTimers();
  storeBenchmark(join(root, 'evals', 'foreign'), 'gsm8k', { rows: rowsOf([1]) });
  storeBenchmark(join(root, 'evals', 'not a name'), 'gsm8k', { rows: rowsOf([1]) });
  storeBenchmark(join(root, 'evals', 'deep', 'deeper'), 'gsm8k', { rows: rowsOf([1]) });

  const runs = await store.listRuns();

  expect(runs.map(({ run_id }) => run_id)).toEqual(['a-late', 'b-early', 'foreign']);
  expect(runs[2]).toMatchObject({ model_name: 'everstep/tiny', scores: { gsm8k: 1 } });
  expect(await new EvalStore(join(root, 'nowhere')).listRuns()).toEqual([]);
});

test('deletes a run and nothing else', async () => {
  const [gone, kept] = [await store.createRun({ modelName: 'm' }), await store.createRun({ modelName: 'm' })];

  expect(await store.deleteRun(gone)).toBe(true);
  expect(await store.deleteRun(gone)).toBe(false);
  expect(readdirSync(join(root, 'evals'))).toEqual([kept]);
  await expect(store.readRun(gone)).rejects.toMatchObject({ code: 'unknown-run' });
});

test.each(['..', '../x', 'a/b', '', '.hidden', '/etc'])('lets no name leave the store: %j', async (name) => {
  await expect(async () => store.createRun({ modelName: 'm', runId: name })).rejects.toMatchObject({
    code: 'bad-config',
  });
  await expect(async () => store.deleteRun(name)).rejects.toMatchObject({ code: 'bad-config' });
  await expect(async () => store.readTrajectories('run', name)).rejects.toMatchObject({ code: 'bad-config' });
  expect(existsSync(join(root, 'evals'))).toBe(false);
});
