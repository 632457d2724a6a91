import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoredResult, StoredTrajectory } from '../../../src/stores/eval-store';
import {
  loadResult,
  loadSummary,
  loadTrajectories,
  writeBenchmark,
  writeSummary,
} from '../../../src/stores/eval-store';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'everstep-evals-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const RESULT: StoredResult = {
  name: 'arithmetic',
  score: 0.25,
  stderr: 0.25,
  ci: [0.05, 0.7],
  score_completed: 0.5,
  num_examples: 4,
  num_completed: 2,
  num_correct: 1,
  num_errors: 1,
  num_truncated: 1,
  metrics: {},
  time_seconds: 1,
  pass_at_k: { '1': 0.25 },
  identity: {
    benchmarkVersion: 1,
    dataHash: 'a',
    promptHash: 'b',
    graderVersion: 'exactMatch@1',
    sampling: {},
    model: 'everstep/tiny',
    checkpoint: 'tinker://x',
  },
};

function trajectory(idx: number, reward: number, error: string | null = null): StoredTrajectory {
  return {
    idx,
    benchmark: 'arithmetic',
    example_id: `arithmetic_${idx}`,
    turns: [],
    reward,
    metrics: {},
    logs: {},
    error,
    time_seconds: 0,
  };
}

test('reads back results and trajectories, and passes over torn lines', async () => {
  await writeBenchmark(join(folder, 'arithmetic'), RESULT, [
    trajectory(0, 1),
    trajectory(1, 0),
    trajectory(2, 0, 'timeout (300s)'),
    { ...trajectory(3, 0), metrics: { max_tokens_reached: 1 } },
    { ...trajectory(4, 0), metrics: { unparsed: 1 } },
  ]);
  appendFileSync(join(folder, 'arithmetic', 'trajectories.jsonl'), '{"idx": 5, "rew');

  const indices = async (filter: Parameters<typeof loadTrajectories>[2]) =>
    (await loadTrajectories(folder, 'arithmetic', filter)).map(({ idx }) => idx);

  expect(await loadResult(folder, 'arithmetic')).toEqual(RESULT);
  expect(await indices({})).toEqual([0, 1, 2, 3, 4]);
  expect(await indices({ correctOnly: true })).toEqual([0]);
  expect(await indices({ incorrectOnly: true })).toEqual([1]);
  expect(await indices({ errorsOnly: true })).toEqual([2]);
  expect(await indices({ truncatedOnly: true })).toEqual([3]);
  expect(await indices({ unparsedOnly: true })).toEqual([4]);
});

test('in what another tool wrote null is as good as nothing', async () => {
  mkdirSync(join(folder, 'odd'));
  const odd = { score: 0.5, metrics: null, num_errors: null, identity: { model: null, dataHash: 'd' } };
  writeFileSync(join(folder, 'odd', 'result.json'), JSON.stringify(odd));

  expect(await loadResult(folder, 'odd')).toMatchObject({
    ...{ name: 'odd', score: 0.5, metrics: {}, num_errors: 0 },
    identity: { model: '', dataHash: 'd', sampling: {} },
  });
});

test.each([
  ['lists thousands deep', `{"score": 1, "identity": {"x": ${'['.repeat(5000)}${']'.repeat(5000)}}}`],
  ['an infinite number', '{"score": 1, "num_examples": 1e400}'],
])('a result with %s is none', async (_, text) => {
  mkdirSync(join(folder, 'odd'));
  writeFileSync(join(folder, 'odd', 'result.json'), text);

  expect(await loadResult(folder, 'odd')).toBeNull();
});

test('sums results up by benchmark', async () => {
  await writeSummary(folder, [RESULT, { ...RESULT, name: 'other', pass_at_k: {} }]);

  expect(await loadSummary(folder)).toEqual({
    arithmetic: { score: 0.25, num_examples: 4, num_correct: 1, num_errors: 1, pass_at_k: { '1': 0.25 } },
    other: { score: 0.25, num_examples: 4, num_correct: 1, num_errors: 1 },
  });
});

test('says null where there is nothing', async () => {
  expect(await loadResult(folder, 'nope')).toBeNull();
  expect(await loadSummary(folder)).toBeNull();
  expect(await loadTrajectories(folder, 'nope')).toEqual([]);
});
