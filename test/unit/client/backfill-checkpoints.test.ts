import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseCheckpoints, chooseRuns, parseSteps } from '../../../src/client/backfill-checkpoints';
import { OFFICIAL_SERVICE } from '../../../src/core/official-service';
import type { RunRecords } from '../../../src/client/run-records';
import type { CheckpointRow, RunState } from '../../../src/core/run';
import { createRunStore } from '../../../src/stores/run-store';

const folder = mkdtempSync(join(tmpdir(), 'everstep-backfill-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function row(step: number, changes: Partial<CheckpointRow> = {}): CheckpointRow {
  return {
    ...{ name: String(step), step, batch: step, epoch: 0, final: false, lineage: 0, incarnation: 0 },
    ...{ state_path: `s/${step}`, sampler_path: `w/${step}`, elapsed_tokens: 0 },
    ...changes,
  };
}

function records(runs: Readonly<Record<string, readonly CheckpointRow[]>>): RunRecords {
  return {
    ...createRunStore(folder),
    listRuns: async () => Object.keys(runs).map((run) => ({ run }) as RunState),
    readCheckpoints: async (run) => [...(runs[run] ?? [])],
    readConfig: async <Config>(run: string) => CONFIGS[run] as Config,
  };
}

const record = (url: string, more: object = {}) => ({
  ...{
    run: '',
    engineUrl: null,
    initialPath: null,
    renderer: 'everstep',
    config: { engine: { url }, loraRank: 8 },
  },
  ...more,
});
const CONFIGS: Readonly<Record<string, unknown>> = {
  'sft-1': record('http://127.0.0.1:8000'),
  official: record(OFFICIAL_SERVICE),
  continued: record(OFFICIAL_SERVICE, { initialPath: 'tinker://a/weights/1' }),
};

const RUNS = records({
  official: [row(0, { sampler_path: null }), row(5)],
  continued: [row(0, { sampler_path: null }), row(5)],
  'sft-1': [row(0, { sampler_path: null }), row(20), row(30, { rolling: true }), row(40), row(50)],
  'sft-2': [row(20), row(20, { sampler_path: 'w/20-again' })],
  'sft-10': [],
  'rl.x': [row(5)],
});

test.each([
  [['sft-*'], ['sft-1', 'sft-2', 'sft-10']],
  [['sft-?'], ['sft-1', 'sft-2']],
  [
    ['rl.x', 'sft-2', 'sft-*'],
    ['rl.x', 'sft-2', 'sft-1', 'sft-10'],
  ],
])('%j names the runs %j', async (patterns, expected) => {
  expect(await chooseRuns(patterns, RUNS)).toEqual(expected);
});

test.each(['rlxx', 'sft', 'sft-1|sft-2', '(x)*'])('%s names no run', async (pattern) => {
  await expect(chooseRuns([pattern], RUNS)).rejects.toMatchObject({ code: 'unknown-run' });
});

test.each([
  ['all', [0, 20, 40, 50]],
  ['last', [50]],
  ['every:20', [0, 20, 40]],
  ['0', [0]],
  ['50, 20,30', [20, 50]],
])('--steps %s chooses %j', async (text, steps) => {
  const chosen = await chooseCheckpoints(['sft-1'], parseSteps(text), RUNS);

  expect(chosen.map((each) => each.row.step)).toEqual(steps);
});

test.each([
  ['sft-1', 's/0'],
  ['official', ''],
])('step 0 of %s is there, with the weights %j', async (run, path) => {
  const [start] = await chooseCheckpoints([run], parseSteps('all'), RUNS);

  expect(start).toMatchObject({ row: { step: 0 }, paths: [path] });
});

test('step 0 is left out where its weights cannot be sampled from', async () => {
  const chosen = await chooseCheckpoints(['continued'], parseSteps('all'), RUNS);

  expect(chosen.map((each) => each.row.step)).toEqual([5]);
});

test('weights that were saved again keep the paths they had', async () => {
  const [chosen] = await chooseCheckpoints(['sft-2'], parseSteps('all'), RUNS);

  expect(chosen?.row.sampler_path).toBe('w/20-again');
  expect(chosen?.paths).toEqual(['w/20', 'w/20-again']);
});

test.each(['', 'every:0', 'every:', '1;2', 'first', '-1'])('--steps %j is refused', (text) => {
  expect(() => parseSteps(text)).toThrow(/every:N/);
});

test('steps that no run has are answered with those there are', async () => {
  await expect(chooseCheckpoints(['sft-1', 'rl.x'], parseSteps('7'), RUNS)).rejects.toThrow(
    'sft-1: 0, 20, 40, 50; rl.x: 5',
  );
});
