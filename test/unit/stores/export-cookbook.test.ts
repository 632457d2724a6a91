import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoredResult, StoredTrajectory } from '../../../src/stores/eval-store';
import { writeBenchmark } from '../../../src/stores/eval-store';
import { exportForCookbook } from '../../../src/stores/export-cookbook';

let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-export-'));
  for (const run of ['a', 'b'])
    await writeBenchmark(join(folder, 'evals', run, 'sums'), result, [trajectory]);
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const result: StoredResult = {
  ...{ name: 'sums', score: 1, stderr: 0, ci: [0.2, 1], score_completed: 1 },
  ...{ num_examples: 1, num_completed: 1, num_correct: 1, num_errors: 0, num_truncated: 0 },
  ...{ metrics: {}, time_seconds: 1, pass_at_k: { '1': 1 } },
  identity: {
    ...{ benchmarkVersion: 1, dataHash: 'd', promptHash: 'p', graderVersion: 'g' },
    ...{ sampling: {}, model: 'm', checkpoint: 'c' },
  },
};

const trajectory: StoredTrajectory = {
  ...{ idx: 0, benchmark: 'sums', example_id: 'one', sample_index: 0, turns: [] },
  ...{ reward: 1, metrics: {}, logs: {}, error: null, time_seconds: 1 },
};

function read(...parts: string[]): unknown {
  return JSON.parse(readFileSync(join(folder, ...parts), 'utf8'));
}

test('writes the keys of the cookbook alone, and keeps the others beside', async () => {
  const written = await exportForCookbook(join(folder, 'evals', 'a'), join(folder, 'out'));

  expect(written).toMatchObject({ runs: ['a'], benchmarkCount: 1, malformedCount: 0 });
  expect(Object.keys(read('out', 'sums', 'result.json') as object).sort()).toEqual(
    ['name', 'score', 'num_examples', 'num_correct', 'num_errors', 'num_truncated']
      .concat('metrics', 'time_seconds', 'pass_at_k')
      .sort(),
  );
  expect(read('out', 'sums', 'trajectories.jsonl')).not.toHaveProperty('sample_index');
  expect(read('out', 'metadata.json')).toMatchObject({
    run_id: 'a',
    model_name: 'm',
    config: { everstep: { sums: { ci: [0.2, 1], identity: result.identity } } },
  });
});

test('writes a store of eval runs with an index', async () => {
  await exportForCookbook(folder, join(folder, 'out'));

  const index = readFileSync(join(folder, 'out', 'runs.jsonl'), 'utf8')
    .trim()
    .split('\n');
  expect(index.map((line) => (JSON.parse(line) as { run_id: string }).run_id)).toEqual(['a', 'b']);
  expect(read('out', 'runs', 'b', 'summary.json')).toMatchObject({ sums: { score: 1 } });
});

test('names a step of a training run by the run, with the time of its score', async () => {
  const run = join(folder, 'runs', 'mine');
  for (const step of ['1', '2']) await writeBenchmark(join(run, 'evals', step, 'sums'), result, [trajectory]);
  const row = { schedule: 'evaluators', evaluator: 'sums', metric: 'score', key: 'sums/score', value: 1 };
  const rest = { stderr: 0, n: 1, higherIsBetter: true };
  const rows = [
    { step: 1, ...row, ...rest, at: '2026-11-01T10:00:00.000Z' },
    { step: 2, ...row, ...rest, at: '2026-11-01T11:00:00.000Z' },
    { step: 2, ...row, ...rest, evaluator: 'loss', at: '2026-11-01T12:00:00.000Z' },
  ];
  writeFileSync(join(run, 'scores.jsonl'), rows.map((each) => `${JSON.stringify(each)}\n`).join(''));

  expect(await exportForCookbook(join(run, 'evals', '2'), join(folder, 'out'))).toMatchObject({
    runs: ['mine@2'],
  });
  expect(read('out', 'metadata.json')).toMatchObject({
    ...{ run_id: 'mine@2', checkpoint_name: 'mine@2', timestamp: '2026-11-01T11:00:00.000Z' },
  });

  expect(await exportForCookbook(run, join(folder, 'all'))).toMatchObject({ runs: ['mine@1', 'mine@2'] });
  expect(read('all', 'runs', 'mine@1', 'metadata.json')).toMatchObject({
    timestamp: '2026-11-01T10:00:00.000Z',
  });
});

test('refuses an output that is there, and a folder without results', async () => {
  await exportForCookbook(folder, join(folder, 'out'));

  await expect(exportForCookbook(folder, join(folder, 'out'))).rejects.toThrow('exists already');
  await expect(exportForCookbook(join(folder, 'evals', 'a', 'sums'), join(folder, 'new'))).rejects.toThrow(
    'no finished benchmark',
  );
});
