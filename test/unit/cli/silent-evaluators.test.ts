import type { RunHandle } from '../../../src/client/run-handle';
import type { RunReport } from '../../../src/client/run-report';
import { stopAndWait } from '../../../src/cli/commands/runs-ending';
import { DomainError } from '../../../src/core/errors';
import { silenceNoter, silenceRemedy, withEndOfWait } from '../../../src/cli/silent-evaluators';
import { watchRun } from '../../../src/cli/watch';
import { recordOutput } from './recording-output';

const SINCE = '2026-11-25T12:00:00.000Z';
const silentEvaluators = [{ evaluator: 'never', steps: [0, 2], since: SINCE }];
const TRAINS = {
  ...{ run: 'mine', status: 'running', source: 'workflow', step: 1, totalSteps: 2, startedAt: '' },
  ...{ waitingFor: null, pendingEvaluations: 6, stopAt: null, pause: null, note: null, rewinds: 0 },
  ...{ closedAt: null, refusal: null, silentEvaluators },
} as unknown as RunReport;
const TRAINED: RunReport = { ...TRAINS, step: 2 };
const NAMED = `evaluator "never" of steps 0, 2 is at work, with nothing new since ${SINCE}\n`;
const BOUND =
  '`budget: { seconds: N }` in its entry of `schedules` (in place of evalEvery and evaluators) bounds an evaluator that hangs.';
const END =
  ' What ends the wait now: npx everstep runs cancel mine ends the run with what it has, and npx everstep train --run mine --continue goes on with what is missing.';

/** Says it once, then that it has ended. */
function handleOf(...reports: readonly RunReport[]): RunHandle {
  const left = [...reports];
  const ended = { ...TRAINED, status: 'completed', silentEvaluators: [] };
  const status = () => Promise.resolve(left.shift() ?? ended);
  return {
    ...{ name: 'mine', status, scores: () => Promise.resolve([]), metrics: () => Promise.resolve([]) },
    latestMetrics: () => Promise.resolve(null),
    stop: () => Promise.resolve({ step: 2 }),
    result: ({ onReport }: { onReport: (report: RunReport) => void }) => {
      for (const report of left) onReport(report);
      return Promise.resolve(ended);
    },
  } as unknown as RunHandle;
}

test('an evaluator that may hang is noted once, and what ends the wait as soon as nothing is left to train', () => {
  const { output, stderr } = recordOutput();
  const note = silenceNoter(output);
  for (const report of [TRAINS, TRAINS, TRAINED, TRAINED]) note(report);

  expect(stderr()).toBe(`${NAMED}${BOUND}\n${BOUND}${END}\n`);
});

test('a run in which none may hang has no remedy', () => {
  const { output } = recordOutput();
  const { silentEvaluators: _, ...quiet } = TRAINED;

  expect(silenceRemedy(quiet, output)).toBeNull();
});

test('whoever watches hears of it', async () => {
  const { output, stderr } = recordOutput();

  await watchRun(handleOf(TRAINED), { output, signal: AbortSignal.timeout(10_000) });

  expect(stderr()).toContain(`${NAMED}${BOUND}${END}\n`);
});

test('whoever stops a run and waits hears of it', async () => {
  const { output, stderr } = recordOutput();
  const carrying = { flags: {}, output, signal: new AbortController().signal };

  await stopAndWait(handleOf(TRAINS, TRAINED), carrying);

  expect(stderr()).toContain(`${NAMED}${BOUND}${END}\n`);
});

const REFUSAL = new DomainError('refused', 'Its last steps, up to 2, are trained or under way already.');

test.each([
  ['with one that may hang', TRAINED, `; ${NAMED.trim()}. ${BOUND}${END}`],
  ['with none', { ...TRAINED, silentEvaluators: [] }, `.${END}`],
])(
  'a stop for which no step is left names what the run waits for %s, and what ends that',
  async (_, report, rest) => {
    const { output } = recordOutput();
    const { signal } = new AbortController();
    const handle = Object.assign(handleOf(report, report), { stop: () => Promise.reject(REFUSAL) });

    await expect(stopAndWait(handle, { flags: {}, output, signal })).rejects.toThrow(
      `Run "mine": all steps are trained; waits for 6 evaluations${rest}`,
    );
  },
);

test('another refusal, or one of a run that still trains, is told as it is', async () => {
  const { output } = recordOutput();
  const other = new DomainError('unreachable', 'nobody answers');

  await expect(withEndOfWait(Promise.reject(REFUSAL), handleOf(TRAINS), output)).rejects.toBe(REFUSAL);
  await expect(withEndOfWait(Promise.reject(other), handleOf(TRAINED), output)).rejects.toBe(other);
});
