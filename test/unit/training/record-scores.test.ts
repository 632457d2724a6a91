import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CellScore } from '../../../src/core/run';
import { createRunStore } from '../../../src/stores/run-store';
import type { RunStore } from '../../../src/stores/run-store';
import { recordScores } from '../../../src/training/record-scores';

let root: string;
let store: RunStore;
let write = 0;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'everstep-scores-'));
  store = createRunStore(root);
  await store.claim('one', { workflowId: 'train/one', firstRunId: 'first' });
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

/** The remarks on what an evaluator measured at a step. */
async function record(step: number, measured: Partial<CellScore>): Promise<(string | undefined)[]> {
  const score = { metric: 'accuracy', key: 'test/quiz/accuracy', value: 0.5, stderr: 0.1, n: 20 };
  const cell = { evaluator: 'quiz', at: '2026-01-01T00:00:00.000Z' };
  const scores = [{ ...score, higherIsBetter: true, ...measured }];
  const rows = await recordScores(
    store,
    {
      run: 'one',
      write: (write += 1),
      finished: [{ step, request: 1, cells: [{ ...cell, scores }] }],
      schedules: [],
      evaluations: [],
    },
    write,
  );
  return rows.map(({ remark }) => remark);
}

test('a score whose examples or grader changed since the last one says so, and the next one no more', async () => {
  expect(await record(0, { data: 'a', grader: 'x' })).toEqual([undefined]);
  expect(await record(10, { data: 'a', grader: 'x' })).toEqual([undefined]);
  expect(await record(20, { data: 'b', grader: 'x' })).toEqual([
    'quiz: its examples changed since step 10: its scores cannot be compared with those up to there.',
  ]);
  expect(await record(30, { data: 'b', grader: 'x' })).toEqual([undefined]);
  expect(await record(40, { data: 'c', grader: 'y', remark: '1 of 20 failed.' })).toEqual([
    '1 of 20 failed. quiz: its examples and its grader changed since step 30: its scores cannot be compared with those up to there.',
  ]);
});

test('what is not known to have changed has not', async () => {
  expect(await record(0, {})).toEqual([undefined]);
  expect(await record(10, { data: 'a' })).toEqual([undefined]);
  expect(await record(20, { data: 'a' })).toEqual([undefined]);
  expect(await record(30, {})).toEqual([undefined]);
});
