import { dueByJournals } from '../../../../src/core/schedules/due-by-journals';
import type { EvaluationSchedule } from '../../../../src/core/schedules/evaluation-schedule';
import type { SentRow } from '../../../../src/core/training-plan';

const common = { offset: 0, atStart: true, atEnd: true, mode: 'background', evaluators: ['fp'] } as const;
const byTokens: EvaluationSchedule = { ...common, name: 'tok', every: { tokens: 100 } };
const byClock: EvaluationSchedule = { ...common, name: 'clock', every: { seconds: 60 } };
const bySteps: EvaluationSchedule = { ...common, name: 'steps', every: { steps: 4 }, atStart: false };

const TOTAL = 10;

/** Steps of 30 tokens; the fourth and the seventh pass another hundred. */
function sent(more: (step: number) => Partial<SentRow> = () => ({})): SentRow[] {
  return Array.from({ length: TOTAL }, (_, index) => index + 1).map((step) => ({
    ...{ step, incarnation: 0, tokens: 30 * step },
    ...more(step),
  }));
}

function due(
  schedule: EvaluationSchedule,
  rows: readonly SentRow[],
  begun: readonly string[] = [],
): number[] {
  const isDue = dueByJournals({ sent: rows, totalSteps: TOTAL, begun: new Set(begun) });
  return Array.from({ length: TOTAL + 1 }, (_, step) => step).filter((step) => isDue(schedule, step));
}

test('rows that name no schedules tell by their tokens what was due, and nothing of the clock', () => {
  expect(due(byTokens, sent())).toEqual([0, 4, 7, 10]);
  expect(due(bySteps, sent())).toEqual([4, 8, 10]);
  expect(due(byClock, sent())).toEqual([0, 10]);
});

test('what was begun was due by the clock where rows do not tell, and by tokens where there are none', () => {
  expect(due(byClock, sent(), ['3/fp', '5/other'])).toEqual([0, 3, 10]);
  expect(due(byTokens, sent(), ['3/fp'])).toEqual([0, 4, 7, 10]);
  expect(due(byTokens, [], ['3/fp'])).toEqual([0, 3, 10]);
  expect(due(bySteps, [], ['3/fp'])).toEqual([4, 8, 10]);
});

test('nothing is due by the clock before training, whatever others have begun there', () => {
  expect(due({ ...byClock, atStart: false }, [], ['0/fp'])).toEqual([10]);
});

test('rows that name what was due are believed', () => {
  const rows = sent((step) => ({ schedules: step === 2 || step === 5 ? ['clock', 'tok'] : [] }));

  expect(due(byClock, rows, ['3/fp'])).toEqual([0, 2, 5, 10]);
  // A step of another length was sampled for it later: what was decided stands.
  expect(due(byTokens, rows)).toEqual([0, 2, 5, 10]);
});

test('a later life, which does not evaluate again, takes nothing back', () => {
  const first = sent((step) => ({ schedules: step === 5 ? ['clock'] : [] }));
  const second = sent(() => ({ incarnation: 1, schedules: [] }));

  expect(due(byClock, [...first, ...second])).toEqual([0, 5, 10]);
});

test('a row of an earlier version among others does not hide what tokens tell', () => {
  const second = sent(() => ({ incarnation: 1, schedules: [] }));

  expect(due(byTokens, [...sent(), ...second])).toEqual([0, 4, 7, 10]);
});
