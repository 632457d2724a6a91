import type { EvaluationSchedule } from '../../../../src/core/schedules/evaluation-schedule';
import { schedulesDueAt } from '../../../../src/core/schedules/evaluation-schedule';
import type { UnfinishedEvaluation } from '../../../../src/core/schedules/overlap';
import { admitEvaluation, MAX_QUEUED } from '../../../../src/core/schedules/overlap';

const schedule = (name: string, more: Partial<EvaluationSchedule> = {}): EvaluationSchedule => ({
  ...{ name, offset: 0, atStart: true, atEnd: true, mode: 'background', evaluators: [name] },
  ...more,
});

const names = (schedules: readonly EvaluationSchedule[]) => schedules.map(({ name }) => name);
const underWay = (...schedules: string[]): UnfinishedEvaluation => ({ step: 10, schedules, isQueued: false });

const SCHEDULES = [
  schedule('old'),
  schedule('queue', { overlap: 'queue' }),
  schedule('skip', { overlap: 'skip' }),
  schedule('newest', { overlap: 'cancel-older' }),
  schedule('held', { overlap: 'skip', mode: 'blocking' }),
];
const ALL = underWay('old', 'queue', 'skip', 'newest', 'held');

test('nothing waits while nothing of its own goes on', () => {
  const due = { step: 20, isLastStep: false, schedules: SCHEDULES };

  const admission = admitEvaluation(due, [underWay('another')]);

  expect(admission).toEqual({ runs: SCHEDULES, waits: [], skipped: [], cancels: [] });
});

test('each schedule follows its own rule, and the others do not wait for it', () => {
  const { runs, waits, skipped, cancels } = admitEvaluation(
    { step: 20, isLastStep: false, schedules: SCHEDULES },
    [ALL],
  );

  expect(names(runs)).toEqual(['old', 'newest', 'held']);
  expect(names(waits)).toEqual(['queue']);
  expect(names(skipped)).toEqual(['skip']);
  expect(cancels).toEqual(['newest']);
});

test.each([
  ['the first step', 0, false],
  ['the last step', 40, true],
])('%s is never skipped', (_name, step, isLastStep) => {
  const { skipped, runs } = admitEvaluation({ step, isLastStep, schedules: SCHEDULES }, [ALL]);

  expect(skipped).toEqual([]);
  expect(names(runs)).toContain('skip');
});

test('what waits is bounded', () => {
  const queued = Array.from({ length: MAX_QUEUED }, () => ({ ...underWay('queue'), isQueued: true }));

  const { waits, skipped } = admitEvaluation({ step: 20, isLastStep: false, schedules: SCHEDULES }, queued);

  expect(waits).toEqual([]);
  expect(names(skipped)).toEqual(['queue']);
});

test('an offset shifts tokens as it does steps', () => {
  const offset = schedule('tokens', { every: { tokens: 25 }, offset: 10, atStart: false, atEnd: false });
  const steps = Array.from({ length: 10 }, (_, index) => index + 1);

  const due = steps.filter(
    (step) =>
      schedulesDueAt([offset], {
        step,
        totalSteps: 100,
        tokensBefore: (step - 1) * 5,
        tokensAfter: step * 5,
      }).length > 0,
  );

  // 10, 35 and 60 tokens: the last is beyond ten steps.
  expect(due).toEqual([2, 7]);
});
