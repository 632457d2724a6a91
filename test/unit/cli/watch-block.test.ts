import { newestScores, progressBlock } from '../../../src/cli/watch-block';
import type { RunReport } from '../../../src/client/run-report';
import { STATE, score } from '../client/fake-server';
import { recordOutput } from './recording-output';

const REPORT: RunReport = {
  ...STATE,
  waitingFor: null,
  pendingEvaluations: 2,
  stopAt: null,
  pause: null,
  source: 'workflow',
  note: null,
  refusal: null,
};
const FACTS = {
  rate: 2,
  metrics: { step: 40, 'train/nll': 1.5 },
  score: null,
  losses: [3, 2, 1.5],
  newest: [],
  now: new Date('2026-01-01T00:02:05.000Z'),
};
const linesOf = (report: RunReport, more: object = {}) =>
  progressBlock({ ...FACTS, ...more, report }, recordOutput({ terminal: true }).output).split('\n');

test('shows rate, time left, the loss as a row of bars and evaluations under way', () => {
  const [first = '', ...more] = linesOf(REPORT);

  expect(first).toContain('40/100');
  expect(first).toContain('2 evaluations under way');
  expect(first).toContain('2 steps/s');
  expect(first).toContain('30s left');
  expect(first).toMatch(/nll 1\.5 █.?▁/);
  expect(more).toEqual([]);
});

test('shows the newest score of each kind with its interval', () => {
  const row = score({ evaluator: 'sums', metric: 'accuracy', value: 0.5, stderr: 0.05, n: 100, step: 20 });
  const newest = newestScores([row, { ...row, step: 40, value: 0.6 }, { ...row, metric: 'nll', step: 40 }]);

  const [, first = '', second = '', ...more] = linesOf(REPORT, { newest });

  expect(first).toMatch(/sums accuracy 0\.6 \[0\.\d+, 0\.\d+\] at step 40/);
  expect(second).toMatch(/sums nll .* at step 40/);
  expect(more).toEqual([]);
});

test('says what is waited for, since when and for how long, and what is used of a budget', () => {
  const lines = linesOf({
    ...REPORT,
    status: 'waiting',
    waitingFor: { what: 'the training service', since: '2026-01-01T00:00:00.000Z' },
    budget: {
      limits: { tokens: 2000, seconds: null, dollars: null, dollarsPerMillionTokens: null },
      spent: { tokens: 500, tokensReserved: 0, tokensOfRewinds: 0, seconds: 3, dollars: null },
      warnings: [],
    } as unknown as NonNullable<RunReport['budget']>,
  });

  expect(lines.slice(1)).toEqual([
    '  waiting for the training service since 00:00:00, for 2m05s',
    '  budget: 500 of 2000 tokens (25 %)',
  ]);
});

test('of a budget whose use nobody knows tells the limit alone', () => {
  const limits = { tokens: 2000, seconds: null, dollars: null, dollarsPerMillionTokens: null };

  expect(linesOf({ ...REPORT, budget: { limits, spent: null, warnings: [] } })).toContain(
    '  budget: 2000 tokens',
  );
});

test('no line is so long that it would wrap', () => {
  const waitingFor = { what: 'w'.repeat(300), since: '2026-01-01T00:00:00.000Z' };

  for (const line of linesOf({ ...REPORT, waitingFor })) expect(line.length).toBeLessThan(100);
});

test('lines at the bottom are taken away before anything is printed, however many they are', () => {
  const { output, stdout } = recordOutput({ terminal: true });

  output.status('a\nb\nc');
  output.line('printed');
  output.status(null);

  const up = '\r\u001b[2A\u001b[J';
  expect(stdout()).toBe(`a\nb\nc${up}printed\na\nb\nc${up}`);
});
