import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRunStore } from '../../../src/stores/run-store';
import type { EvaluateSnapshotDependencies } from '../../../src/training/evaluate-snapshot';
import { evaluateSnapshot } from '../../../src/training/evaluate-snapshot';
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
function evaluateFailing(error: Error) {
  const unused = () => Promise.reject(new Error('not asked for'));
  const dependencies: EvaluateSnapshotDependencies = {
    store: createRunStore(root),
    engines: { connect: unused, urlOf: () => '' },
    readDataset: unused,
    readBenchmarkRows: () => unused,
    tokenizerOf: () => Promise.reject(error),
    sampling: { connections: new KeptConnections(), open: unused },
    loadPlugins: unused,
    now: () => new Date(0),
  };
  return evaluateSnapshot(dependencies, INPUT, {
    signal: new AbortController().signal,
    epoch: 1,
    onProgress: () => undefined,
    mayRunCode: true,
  });
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

test('a file of its own that an evaluator may not read is its failure', async () => {
  const cell = await evaluateFailing(refused('EACCES', '/somewhere/else/answers.json'));

  expect(cell).toMatchObject({
    evaluator: 'score',
    scores: [],
    error: expect.stringContaining('EACCES') as unknown,
  });
});
