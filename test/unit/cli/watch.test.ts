import type { RunHandle } from '../../../src/client/run-handle';
import type { RunReport } from '../../../src/client/run-report';
import { watchRun } from '../../../src/cli/watch';
import type { ScoreRow } from '../../../src/core/run';
import { recordOutput } from './recording-output';

const scoreOf = (step: number, evaluator: string, schedule: string): ScoreRow => ({
  ...{ step, evaluator, schedule, metric: 'accuracy', key: `test/${evaluator}/accuracy` },
  ...{ value: 0.5, stderr: null, n: 10, higherIsBetter: true, at: '2026-01-01T00:00:00Z' },
});

const REPORT = {
  ...{ startedAt: '', waitingFor: null },
  run: 'r',
  status: 'completed',
  step: 9,
  totalSteps: 9,
  rewinds: 0,
  pause: null,
  note: null,
} as RunReport;

function handleOf(scores: readonly ScoreRow[], report = () => REPORT): RunHandle {
  const handle = {
    status: () => Promise.resolve(report()),
    scores: () => Promise.resolve(scores),
    latestMetrics: () => Promise.resolve(null),
    metrics: () => Promise.resolve([]),
  };

  return handle as unknown as RunHandle;
}

test('begins with the newest score of each evaluator, and says how many came before', async () => {
  const { output, stdout, stderr } = recordOutput();
  const scores = [scoreOf(0, 'sums', 's'), scoreOf(5, 'sums', 's'), scoreOf(0, 'words', 's')];

  await watchRun(handleOf(scores), { output });

  expect(stdout()).not.toContain('step 0: sums');
  expect(stdout()).toContain('step 5: sums accuracy 0.5');
  expect(stdout()).toContain('step 0: words accuracy 0.5');
  expect(stderr()).toContain('1 earlier score: npx everstep runs scores r');
});

test.each([
  ['cancelled', 'cancelled: another took its place', 'step 5: sums cancelled: another took its place'],
  ['skipped', 'no room', 'step 5: sums skipped: no room'],
  ['error', 'no luck', 'step 5: sums failed: no luck'],
])('%s is called so', async (metric, error, line) => {
  const { output, stdout } = recordOutput();

  await watchRun(handleOf([{ ...scoreOf(5, 'sums', 's'), metric, error, value: null }]), { output });

  expect(stdout()).toContain(`${line}\n`);
});

test('prints only the scores that are asked for', async () => {
  const handle = handleOf([scoreOf(5, 'sums', 'test'), scoreOf(9, 'sums', 'requested')]);
  const { output, stdout } = recordOutput();

  await watchRun(handle, { output, isShown: ({ schedule }) => schedule === 'requested' });

  expect(stdout()).toContain('step 9: sums accuracy');
  expect(stdout()).not.toContain('step 5:');
});

test('of a run that its budget keeps says how it goes on, and no time that is left', async () => {
  const { output, stdout, stderr } = recordOutput();
  const limits = { tokens: 2000, seconds: null, dollars: null, dollarsPerMillionTokens: null };
  const reason = 'the next step would not fit the budget: 1820 of 2000 tokens used';
  const paused = {
    ...{ ...REPORT, status: 'paused', closedAt: null, source: 'workflow', waitingFor: null },
    pause: { step: 9, since: null, until: null, then: 'resume', by: 'budget', reason },
    budget: { limits, spent: { tokens: 1820, seconds: 3, dollars: null }, warnings: [] },
  } as unknown as RunReport;
  const told = [paused, REPORT];
  const handle = handleOf([], () => told.shift() ?? REPORT);

  await watchRun(handle, { output });

  expect(stdout()).toContain(`paused by budget (${reason})`);
  expect(stdout()).not.toContain('left');
  expect(stderr()).toContain('runs set r budget.tokens=…, then npx everstep runs resume r');
});
