import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { compareTwoRuns } from '../../../src/cli/commands/runs-compare';
import { Everstep } from '../../../src/client/everstep';
import { createRunStore } from '../../../src/stores/run-store';
import { recordOutput } from '../cli/recording-output';
import { rowsOf, storeBenchmark } from '../evaluation/compare/stored-results';
import { STATE, score } from './fake-server';

let root = '';
let everstep: Everstep;
beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'everstep-compare-runs-'));
  everstep = await Everstep.connect({ store: root, temporal: null });
});
afterEach(async () => {
  await everstep.close();
  await rm(root, { recursive: true, force: true });
});

interface StoredRun {
  /** Loss of each step, from step 1. */
  readonly nll: readonly number[];
  readonly tokens?: number;
  readonly learningRate?: number;
  readonly scores?: readonly object[];
  readonly status?: 'completed' | 'running';
}

async function store(
  run: string,
  { nll, tokens = 100, learningRate = 0.1, scores = [], status = 'completed' }: StoredRun,
) {
  const records = createRunStore(root);
  await records.claim(run, { workflowId: `train/${run}`, firstRunId: 'first' });
  const closedAt = status === 'completed' ? '2026-01-01T00:10:00.000Z' : null;
  await records.writeState(run, {
    ...STATE,
    run,
    status,
    step: nll.length,
    totalSteps: nll.length,
    closedAt,
  });
  const config = {
    kind: 'sft',
    model: 'everstep/tiny',
    dataset: { path: 'x.jsonl' },
    steps: nll.length,
    learningRate,
  };
  await records.writeConfig(run, { config });
  const rows = nll.map((value, index) => ({
    step: index + 1,
    'train/nll': value,
    'train/tokens': tokens,
    'train/loss': value * 3,
  }));
  await write(run, 'metrics', rows);
  await write(run, 'scores', scores);
}

async function write(run: string, name: string, rows: readonly object[]): Promise<void> {
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  await appendFile(path.join(createRunStore(root).runFolder(run), `${name}.jsonl`), text);
}

test('puts last, best and common steps of two runs side by side, and what their configs differ in', async () => {
  await store('one', {
    nll: [3, 1, 2],
    scores: [score({ step: 2, key: 'test/nll', value: 1.5, higherIsBetter: false })],
  });
  await store('two', {
    nll: [4, 3, 2, 1],
    learningRate: 0.2,
    scores: [score({ step: 2, key: 'test/nll', value: 2, higherIsBetter: false })],
  });

  const { a, b, metrics, config, remarks } = await everstep.runs.compare('one', 'two');

  expect([a, b]).toMatchObject([
    { run: 'one', status: 'completed', step: 3 },
    { run: 'two', step: 4 },
  ]);
  expect(metrics).toEqual([
    {
      metric: 'train/nll',
      higherIsBetter: false,
      a: { last: { step: 3, value: 2 }, best: { step: 2, value: 1 } },
      b: { last: { step: 4, value: 1 }, best: { step: 4, value: 1 } },
      points: [
        { step: 1, a: 3, b: 4, difference: -1 },
        { step: 2, a: 1, b: 3, difference: -2 },
        { step: 3, a: 2, b: 2, difference: 0 },
      ],
      atTokens: null,
    },
    {
      metric: 'test/nll',
      higherIsBetter: false,
      a: { last: { step: 2, value: 1.5 }, best: { step: 2, value: 1.5 } },
      b: { last: { step: 2, value: 2 }, best: { step: 2, value: 2 } },
      points: [{ step: 2, a: 1.5, b: 2, difference: -0.5 }],
      atTokens: null,
    },
  ]);
  expect(config).toEqual([
    { key: 'learningRate', a: '0.1', b: '0.2' },
    { key: 'steps', a: '3', b: '4' },
  ]);
  expect(remarks).toEqual([
    expect.stringContaining('of one run with one seed: it carries no significance'),
    expect.stringContaining('No evaluations could be paired'),
  ]);
});

test('compares at the tokens that both have read, where their steps are not of the same size', async () => {
  await store('one', { nll: [4, 3, 2, 1] });
  await store('two', { nll: [5, 4, 3], tokens: 200 });

  const { metrics } = await everstep.runs.compare('one', 'two', { metrics: ['train/nll'], points: 2 });

  expect(metrics[0]).toMatchObject({
    points: [{ step: 1 }, { step: 3 }],
    atTokens: { tokens: 400, a: { step: 4, value: 1 }, b: { step: 2, value: 4 }, difference: -3 },
  });
});

test('takes any metric by name or pattern, and refuses one that they do not share', async () => {
  await store('one', { nll: [3] });
  await store('two', { nll: [4], scores: [score({ step: 1, key: 'test/mine', value: 1 })] });

  const { metrics } = await everstep.runs.compare('one', 'two', { metrics: ['train/*'] });

  expect(metrics.map(({ metric }) => metric)).toEqual(['train/nll', 'train/tokens', 'train/loss']);
  // Which way a loss of an unknown kind is better nobody knows.
  expect(metrics.at(-1)).toMatchObject({ higherIsBetter: null, a: { best: null, last: { value: 9 } } });
  await expect(everstep.runs.compare('one', 'two', { metrics: ['test/mine'] })).rejects.toThrow(
    '--metric: only two has "test/mine". one and two share: train/loss, train/nll, train/tokens.',
  );
  await expect(everstep.runs.compare('one', 'two', { metrics: ['nope'] })).rejects.toThrow(
    'neither run has "nope"',
  );
  await expect(everstep.runs.compare('one', 'gone')).rejects.toThrow(
    'Unknown run "gone". Did you mean "one"? Known: one, two.',
  );
  await expect(everstep.runs.compare('one', 'one')).rejects.toThrow('everstep compare one@0 one');
});

test('pairs the last evaluations by example, and says of which steps they are', async () => {
  await store('one', { nll: [3], status: 'running' });
  await store('two', { nll: [4] });
  const records = createRunStore(root);
  storeBenchmark(path.join(records.runFolder('one'), 'evals', '0'), 'mine', { rows: rowsOf([0, 0, 0]) });
  storeBenchmark(path.join(records.runFolder('one'), 'evals', '5'), 'mine', { rows: rowsOf([1, 0, 1]) });
  storeBenchmark(path.join(records.runFolder('two'), 'evals', '9'), 'mine', { rows: rowsOf([1, 1, 1]) });

  const { evaluations, remarks } = await everstep.runs.compare('one', 'two');

  expect(evaluations?.comparisons).toMatchObject([
    { benchmark: 'mine', n: 3, difference: expect.closeTo(-1 / 3, 9) as number },
  ]);
  expect(remarks).toEqual([
    'one has not ended (step 1 of 1): its last values are not its final ones.',
    expect.stringContaining('carries no significance'),
    'Evaluated last: one at step 5, two at step 9. Other steps are compared with: everstep compare one@STEP two@STEP',
  ]);
});

test('says what to add where two runs share nothing', async () => {
  await store('one', { nll: [] });
  await store('two', { nll: [4] });

  const { metrics, remarks } = await everstep.runs.compare('one', 'two');

  expect(metrics).toEqual([]);
  expect(remarks[0]).toBe(
    'They share no metric to compare by itself. one has none; two has train/loss, train/nll, train/tokens. Choose with --metric, or give both the same evaluators.',
  );
});

test('is printed as tables, or as one document', async () => {
  await store('one', { nll: [3, 1] });
  await store('two', { nll: [4, 2], tokens: 50 });
  const shown = recordOutput({ json: false });
  const document = recordOutput({ json: true });

  await compareTwoRuns(['one', 'two'], { everstep, output: shown.output });
  await compareTwoRuns(['one', 'two'], { everstep, output: document.output }, { metric: ['train/nll'] });

  expect(shown.stdout()).toContain('A: one (sft of everstep/tiny, completed at step 2 of 2)');
  expect(shown.stdout()).toMatch(/train\/nll +lower +1 @2 +2 @2 +1 @2 +2 @2/);
  expect(shown.stdout()).toMatch(/train\/nll +step 2 +1 +2 +-1/);
  expect(shown.stdout()).toMatch(/train\/nll +100 tokens +3 @1 +2 @2 +\+1/);
  expect(shown.stdout()).toContain('Their configs are the same.');
  expect(JSON.parse(document.stdout())).toMatchObject({
    a: { run: 'one' },
    metrics: [{ metric: 'train/nll' }],
    evaluations: null,
    config: [],
  });
});

test('metrics that every step names anew are read and compared in one go', async () => {
  const nll = Array.from({ length: 30_000 }, () => 1);
  const scores = nll.map((value, step) =>
    score({ step, key: `t/${step}/nll`, value, higherIsBetter: false }),
  );
  await store('one', { nll, scores });
  await store('two', { nll, scores, tokens: 50 });
  const strange = nll.map((value, index) => ({ step: nll.length + 1, [`x/${index}`]: value }));
  await write('one', 'metrics', strange);
  await write('two', 'metrics', strange);

  const { metrics } = await everstep.runs.compare('one', 'two');

  expect(metrics).toHaveLength(nll.length + 1);
});
