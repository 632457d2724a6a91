import { checkpointDueAt } from '../../../../src/core/schedules/checkpoint-schedule';
import type { EvaluationSchedule } from '../../../../src/core/schedules/evaluation-schedule';
import { schedulesDueAt } from '../../../../src/core/schedules/evaluation-schedule';
import { learningRateAt } from '../../../../src/core/schedules/learning-rate';
import { segmentLength } from '../../../../src/core/schedules/segment-length';

describe('learningRateAt', () => {
  const plan = (type: 'linear' | 'cosine', warmupSteps = 0, finalFraction = 0) => ({
    peak: 2,
    totalSteps: 4,
    schedule: { type, warmupSteps, finalFraction },
  });

  test.each([
    ['linear gives step s the 0-based multiplier 1 - (s-1)/total', plan('linear'), [2, 1.5, 1, 0.5]],
    ['cosine gives ½(1 + cos(π(s-1)/total))', plan('cosine'), [2, 1 + Math.SQRT1_2, 1, 1 - Math.SQRT1_2]],
    ['warm-up rises to the peak, then the decay spans the rest', plan('linear', 2), [1, 2, 2, 1]],
    ['the decay ends above the final fraction', plan('linear', 0, 0.5), [2, 1.75, 1.5, 1.25]],
  ])('%s', (_rule, given, expected) => {
    const rates = [1, 2, 3, 4].map((step) => learningRateAt(given, step));

    expected.forEach((rate, index) => {
      expect(rates[index]).toBeCloseTo(rate, 12);
    });
  });

  test('constant stays at the peak after warm-up', () => {
    const given = { peak: 3, totalSteps: 10, schedule: { type: 'constant' as const, warmupSteps: 3 } };

    expect([1, 3, 4, 10].map((step) => learningRateAt(given, step))).toEqual([1, 3, 3, 3]);
  });
});

describe('checkpointDueAt', () => {
  const schedule = { saveEvery: 20, ttlSeconds: 100, rollingSaveEvery: 5, rollingTtlSeconds: 50 };

  test.each([
    [0, { name: '000000', kind: 'first', ttlSeconds: 100 }],
    [5, { name: '000005', kind: 'rolling', ttlSeconds: 50 }],
    [20, { name: '000020', kind: 'periodic', ttlSeconds: 100 }],
    [21, null],
    [60, { name: 'final', kind: 'final', ttlSeconds: null }],
  ])('step %i', (step, expected) => {
    expect(checkpointDueAt(schedule, step, 60)).toEqual(expected);
  });

  test('keeps the first and the last when every rhythm is off', () => {
    const off = { ...schedule, saveEvery: 0, rollingSaveEvery: 0 };

    const due = [0, 1, 2, 3].map((step) => checkpointDueAt(off, step, 3)?.kind ?? null);

    expect(due).toEqual(['first', null, null, 'final']);
  });
});

describe('schedulesDueAt', () => {
  const base = { offset: 0, atStart: true, atEnd: true, mode: 'background' as const, evaluators: ['a'] };
  const stepsDue = (schedule: EvaluationSchedule, totalSteps: number, tokensPerStep = 1) =>
    Array.from({ length: totalSteps + 1 }, (_, step) => step).filter(
      (step) =>
        schedulesDueAt([schedule], {
          step,
          totalSteps,
          tokensBefore: Math.max(0, step - 1) * tokensPerStep,
          tokensAfter: step * tokensPerStep,
        }).length > 0,
    );

  test.each<[string, EvaluationSchedule, number[]]>([
    ['by steps, with the first and the last', { ...base, name: 's', every: { steps: 3 } }, [0, 3, 6, 9, 10]],
    [
      'without start and end',
      { ...base, name: 's', every: { steps: 3 }, atStart: false, atEnd: false },
      [3, 6, 9],
    ],
    [
      'at a last step that is a multiple, also without the end',
      { ...base, name: 's', every: { steps: 5 }, atStart: false, atEnd: false },
      [5, 10],
    ],
    [
      'at a last step that passes a token count, also without the end',
      { ...base, name: 's', every: { tokens: 50 }, atStart: false, atEnd: false },
      [5, 10],
    ],
    ['shifted by an offset', { ...base, name: 's', every: { steps: 4 }, offset: 2 }, [0, 2, 6, 10]],
    ['at listed steps', { ...base, name: 's', at: [4], atStart: false, atEnd: false }, [4]],
    [
      'at the step that passes each token count',
      { ...base, name: 's', every: { tokens: 25 } },
      [0, 3, 5, 8, 10],
    ],
  ])('%s', (_rule, schedule, expected) => {
    expect(stepsDue(schedule, 10, 10)).toEqual(expected);
  });

  test('leaves schedules by seconds to the clock, except at the ends', () => {
    expect(stepsDue({ ...base, name: 's', every: { seconds: 1 } }, 5)).toEqual([0, 5]);
  });
});

test('a segment is bounded by what the last one did, never by nothing', () => {
  expect(segmentLength(null, 4)).toBe(20);
  expect(segmentLength(10, 4)).toBe(80);
  expect(segmentLength(0.01, 4)).toBe(2);
  expect(segmentLength(100_000, 4)).toBe(5000);
});
