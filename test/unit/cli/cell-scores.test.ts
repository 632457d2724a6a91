import type { EvaluatorHandle } from '../../../src/client/eval-evaluator';
import { printCellScores } from '../../../src/cli/commands/cell-scores';
import { followCells } from '../../../src/cli/commands/results-rejudge-cells';
import type { CellScore } from '../../../src/core/run';
import { recordOutput } from './recording-output';

const SCORE: CellScore = {
  ...{ metric: 'accuracy', key: 'test/graded/accuracy', value: 0, stderr: 0, n: 2, higherIsBetter: true },
};

test('scores of evaluators have intervals, as those of benchmarks have', () => {
  const { output, stdout } = recordOutput();
  const loss = { ...SCORE, metric: 'nll', key: 'test/nll', value: 2, stderr: 0.1, n: 50 };
  const whole = { ...SCORE, key: 'test/mine', stderr: null };

  printCellScores(output, [SCORE, loss, whole]);

  expect(stdout()).toMatch(/score +value +95 % +n\n/);
  expect(stdout()).toMatch(/test\/graded\/accuracy +0 +\[0, 0\.6576\] +2\n/);
  expect(stdout()).toMatch(/test\/nll +2 +\[1\.804, 2\.196\] +50\n/);
  expect(stdout()).toMatch(/test\/mine +0 +2\n/);
});

test('an interval that the evaluator knows better is taken as it is', () => {
  const { output, stdout } = recordOutput();

  printCellScores(output, [{ ...SCORE, value: 0.01, stderr: 0.01, n: 50, ci: [0, 0.0296] }]);

  expect(stdout()).toMatch(/test\/graded\/accuracy +0\.01 +\[0, 0\.0296\] +50\n/);
});

test('what cells wait for while they are judged again is said once', async () => {
  const { output, stderr } = recordOutput();
  const handle = {
    ...{ folder: '/evals/x/graded', request: { evaluator: 'graded', trainingRun: 'r', step: 2, run: 'x' } },
    waitingReason: () => Promise.resolve('the judge is away'),
    result: ({ signal }: { signal: AbortSignal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          resolve(null);
        });
      }),
  } as unknown as EvaluatorHandle;
  const leaving = new AbortController();
  const following = followCells([handle], { output, signal: leaving.signal });

  // Asked twice within seven seconds.
  await new Promise((resolve) => setTimeout(resolve, 6500));
  leaving.abort();

  expect(await following).toBe(130);
  expect(stderr().match(/Waiting: the judge is away/g)).toHaveLength(1);
});
