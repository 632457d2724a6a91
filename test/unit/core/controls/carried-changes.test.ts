import type { ControlRow } from '../../../../src/core/controls';
import { carriedChanges } from '../../../../src/core/controls/carried-changes';
import { shownSchedule } from '../../../../src/core/controls/schedule-change';
import type { EvaluationSchedule } from '../../../../src/core/schedules/evaluation-schedule';

const QUALITY: EvaluationSchedule = {
  name: 'quality',
  every: { steps: 10 },
  offset: 0,
  atStart: true,
  atEnd: true,
  mode: 'background',
  evaluators: ['a', 'b'],
};
const PLAN = { totalSteps: 40, evaluations: [QUALITY] };

function row(control: string, step: number, to: unknown): ControlRow {
  return {
    at: `2026-01-01T00:00:0${step % 10}Z`,
    by: 'someone',
    reason: 'why',
    control,
    step,
    from: null,
    to,
  };
}

function changes(...rows: readonly ControlRow[]) {
  return carriedChanges(rows, PLAN);
}

test('a run that nobody changed carries nothing', () => {
  expect(changes()).toEqual({ rates: [], scheduleChanges: [], budget: null, stop: null, pause: null });
});

test('learning rates and budgets stand as they were last said', () => {
  const budget = { tokens: 5, seconds: null, dollars: null, dollarsPerMillionTokens: null };
  const carried = changes(
    row('setLearningRate', 9, 0.2),
    row('setLearningRate', 4, 0.1),
    row('setLearningRate', 9, 0.3),
    row('setBudget', 3, budget),
  );

  expect(carried.rates).toEqual([
    { step: 4, peak: 0.1 },
    { step: 9, peak: 0.3 },
  ]);
  expect(carried.budget).toEqual(budget);
});

test('schedules are as they were shown, on top of one another', () => {
  const listed = shownSchedule({ ...QUALITY, every: undefined, at: [20, 30], evaluators: ['a'] } as never);
  const carried = changes(
    row('setEvalSchedule', 5, { schedule: 'quality', when: 'never', evaluators: ['a', 'b'] }),
    row('setEvalSchedule', 12, listed),
  );

  const rest = Object.fromEntries(Object.entries(QUALITY).filter(([key]) => key !== 'every'));
  expect(carried.scheduleChanges).toEqual([
    { step: 5, evaluations: [{ ...rest, atEnd: false }] },
    { step: 12, evaluations: [{ ...rest, at: [20, 30], evaluators: ['a'] }] },
  ]);
});

test('a pause lasts until it is resumed or stopped at once, not until a later stop', () => {
  const pause = row('pause', 8, { step: 8, seconds: 60, then: 'stop' });

  expect(changes(pause).pause).toEqual({ step: 8, seconds: 60, then: 'stop', by: 'someone', reason: 'why' });
  expect(changes(pause, row('resume', 9, 'running')).pause).toBeNull();
  expect(changes(pause, row('stop', 9, 9))).toMatchObject({ pause: null, stop: { step: 9, reason: 'why' } });
  expect(changes(pause, row('stop', 20, 20))).toMatchObject({ pause: { step: 8 }, stop: { step: 20 } });
  expect(changes(row('stop', 20, 20), row('stop', 40, 40)).stop).toBeNull();
});
