import fc from 'fast-check';
import type { Budget, Usage } from '../../../../src/core/controls/budget';
import {
  exhaustedLimit,
  nearLimits,
  dollarsOf,
  NO_BUDGET,
  nextWarningAt,
  requireBudgetRequest,
  resolveBudget,
  secondsAhead,
  spendingOf,
  stepsLeft,
} from '../../../../src/core/controls/budget';
import { changeAt, changesFrom, withChange } from '../../../../src/core/controls/changes-by-step';
import { resolveEvaluators } from '../../../../src/core/controls/evaluation-request';
import {
  MAX_RATE_CHANGES,
  requireLearningRateRequest,
  resolveLearningRate,
} from '../../../../src/core/controls/learning-rate';
import { requirePauseRequest, resolvePause } from '../../../../src/core/controls/pause';
import {
  requireScheduleRequest,
  resolveSchedule,
  schedulesAt,
} from '../../../../src/core/controls/schedule-change';
import type { ScheduleRequest } from '../../../../src/core/controls/schedule-change';

const BY = { by: 'test', reason: '' };
const BOUNDS = { sentThrough: 10, lastStep: 100, totalSteps: 100 };
const steps = fc.array(fc.record({ step: fc.integer({ min: 1, max: 50 }) }), { maxLength: 20 });

describe('changes by steps', () => {
  test('what later steps are told of is what they would find among all changes', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: 60 }), fc.nat({ max: 10 }), (added, first, more) => {
        const changes = added.reduce<{ readonly step: number }[]>(withChange, []);

        expect(changeAt(changesFrom(changes, first), first + more)).toEqual(changeAt(changes, first + more));
      }),
    );
  });

  test('a second change at a step takes the first one’s place', () => {
    expect(withChange([{ step: 3, peak: 1 }], { step: 3, peak: 2 })).toEqual([{ step: 3, peak: 2 }]);
  });
});

describe('pause', () => {
  const request = (more: object) => ({
    ...BY,
    atStep: null,
    seconds: null,
    then: 'resume' as const,
    ...more,
  });

  test.each([
    ['as early as possible', {}, 10],
    ['after what is under way', { atStep: 10 }, 10],
    ['later', { atStep: 99 }, 99],
  ])('%s', (_name, more, step) => {
    expect(resolvePause(request(more), BOUNDS)).toBe(step);
  });

  test('before the first step it stands still behind the saves of step 0', () => {
    expect(resolvePause(request({}), { ...BOUNDS, sentThrough: -1 })).toBe(0);
  });

  test.each([
    ['a step that was sent', { atStep: 9 }, /Step 9 is past/],
    ['the last step', { atStep: 100 }, /ends after step 100/],
  ])('refuses %s', (_name, more, reason) => {
    expect(() => resolvePause(request(more), BOUNDS)).toThrow(reason);
  });

  test.each([
    [{ seconds: 0 }],
    [{ seconds: Number.NaN }],
    [{ seconds: '5' }],
    [{ then: 'go' }],
    [{ atStep: 1.5 }],
  ])('refuses the shape %j', (more) => {
    expect(() => {
      requirePauseRequest(request(more));
    }).toThrow(/has to be/);
  });
});

describe('learning rate', () => {
  const request = (more: object) => ({ ...BY, atStep: null, value: null, multiplier: null, ...more });
  const situation = { ...BOUNDS, rates: [{ step: 20, peak: 0.5 }], initial: 1 };

  test('multiplies the peak as it is at the step', () => {
    expect(resolveLearningRate(request({ multiplier: 0.5 }), situation)).toEqual({
      step: 11,
      from: 1,
      to: 0.5,
    });
    expect(resolveLearningRate(request({ multiplier: 0.5, atStep: 30 }), situation)).toEqual({
      step: 30,
      from: 0.5,
      to: 0.25,
    });
  });

  test('refuses a result that is no rate, and one change too many', () => {
    const full = Array.from({ length: MAX_RATE_CHANGES }, (_, index) => ({ step: index + 200, peak: 1 }));

    expect(() => resolveLearningRate(request({ multiplier: 1e5 }), situation)).toThrow(/would become 100000/);
    expect(() => resolveLearningRate(request({ value: 1 }), { ...situation, rates: full })).toThrow(
      /200 times/,
    );
  });

  test.each([
    [{ value: -1 }],
    [{ value: 0 }],
    [{ value: Number.NaN }],
    [{ value: 11 }],
    [{ value: 1, multiplier: 1 }],
    [{}],
  ])('refuses the shape %j', (more) => {
    expect(() => {
      requireLearningRateRequest(request(more));
    }).toThrow();
  });
});

describe('schedules', () => {
  const base = { offset: 0, atStart: true, atEnd: true, mode: 'background' as const };
  const initial = [
    { ...base, name: 'often', every: { steps: 10 }, evaluators: ['a', 'b'] },
    { ...base, name: 'rarely', every: { steps: 50 }, evaluators: ['c'] },
  ];
  const request = (more: object): ScheduleRequest => ({
    ...BY,
    ...{ schedule: 'often', every: null, at: null, add: [], remove: [], atStep: null },
    ...more,
  });
  const situation = { ...BOUNDS, initial, changes: [] };

  test('a rhythm takes the place of listed steps, and switching it on again restores the last step', () => {
    const listed = resolveSchedule(request({ at: [20, 30] }), situation);
    const never = resolveSchedule(request({ every: 'never', atStep: 40 }), {
      ...situation,
      changes: [listed],
    });
    const again = resolveSchedule(request({ every: { tokens: 5 }, atStep: 50 }), {
      ...situation,
      changes: [listed, never],
    });

    expect(listed.to).toEqual({ ...base, name: 'often', at: [20, 30], evaluators: ['a', 'b'] });
    expect(never.to).toEqual({ ...base, name: 'often', atEnd: false, evaluators: ['a', 'b'] });
    expect(again.to).toEqual({ ...base, name: 'often', every: { tokens: 5 }, evaluators: ['a', 'b'] });
    expect(schedulesAt(initial, [listed, never, again], 45)[0]).toBe(never.to);
    expect(schedulesAt(initial, [listed, never, again], 10)).toBe(initial);
  });

  test('evaluators of another schedule may be added, unknown ones not', () => {
    expect(resolveSchedule(request({ add: ['c'], remove: ['a'] }), situation).to.evaluators).toEqual([
      'b',
      'c',
    ]);
    expect(() => resolveSchedule(request({ add: ['d'] }), situation)).toThrow(
      /Unknown evaluator "d".*a, b, c/,
    );
    expect(() => resolveEvaluators(['aritmetic'], ['arithmetic', 'words'])).toThrow(
      'Unknown evaluator "aritmetic". Did you mean "arithmetic"? The run has: arithmetic, words.',
    );
    expect(() => resolveSchedule(request({ remove: ['c'] }), situation)).toThrow(/has no evaluator "c"/);
    expect(() => resolveSchedule(request({ remove: ['a', 'b'] }), situation)).toThrow(/no evaluators left/);
  });

  test('refuses a listed step that the run does not have', () => {
    const { totalSteps } = BOUNDS;
    expect(resolveSchedule(request({ at: [totalSteps] }), situation).to.at).toEqual([totalSteps]);
    expect(() => resolveSchedule(request({ at: [totalSteps, totalSteps + 1] }), situation)).toThrow(
      `Step ${totalSteps + 1} of "at" is beyond the run's ${totalSteps} steps`,
    );
  });

  test.each([
    [{}],
    [{ every: { steps: 0 } }],
    [{ every: { steps: 1.5 } }],
    [{ every: { days: 1 } }],
    [{ every: { steps: 1, tokens: 1 } }],
    [{ at: [] }],
    [{ at: [-1] }],
    [{ every: 'never', at: [5] }],
    [{ add: 'a' }],
    [{ add: ['a', 'b'], remove: ['b'] }],
    [{ schedule: 'x'.repeat(65) }],
  ])('refuses the shape %j', (more) => {
    expect(() => {
      requireScheduleRequest(request(more));
    }).toThrow();
  });

  test('no names are all names', () => {
    expect(resolveEvaluators([], ['a', 'b'])).toEqual(['a', 'b']);
    expect(resolveEvaluators(['b', 'b'], ['a', 'b'])).toEqual(['b']);
    expect(() => resolveEvaluators([], [])).toThrow(/no evaluators/);
  });
});

describe('budget', () => {
  const usage: Usage = { tokens: 1000, tokensOfRewinds: 0, stepsDone: 10, stepsUnderWay: 1, seconds: 60 };
  const budget = (more: Partial<Budget>): Budget => ({ ...NO_BUDGET, ...more });

  test('steps under way have their tokens reserved, rewinds are paid for', () => {
    expect(stepsLeft(usage, budget({ tokens: 1350 }))).toBe(2);
    expect(stepsLeft({ ...usage, tokensOfRewinds: 200 }, budget({ tokens: 1350 }))).toBe(0);
    expect(stepsLeft(usage, NO_BUDGET)).toBe(Infinity);
    expect(stepsLeft({ ...usage, tokens: 0, stepsDone: 0, stepsUnderWay: 0 }, budget({ tokens: 1 }))).toBe(1);
  });

  test.each([
    [{ tokens: 1200 }, null],
    [{ tokens: 1150 }, 'the next step would not fit the budget: 1100 of 1150 tokens used'],
    [{ seconds: 60 }, 'the budget is used up: 60 of 60 seconds'],
    [{ seconds: 61 }, null],
    [{ dollars: 0.001, dollarsPerMillionTokens: 1 }, 'the budget is used up: $0.001 of $0.001'],
    [{ tokens: 900 }, 'the budget is used up: 1000 of 900 tokens'],
    [{ dollars: 5, dollarsPerMillionTokens: 0 }, null],
    [{ dollars: 1, dollarsPerMillionTokens: 1 }, null],
    [
      { tokens: 1e9, dollars: 0.0011, dollarsPerMillionTokens: 1 },
      'the next step would not fit the budget: $0.001 of $0.0011 used',
    ],
  ])('%j: %s', (limits, usedUp) => {
    expect(exhaustedLimit(usage, budget(limits))).toBe(usedUp);
  });

  test('what the next step takes is known where it was asked for, and what is under way where it was sent', () => {
    const known = { ...usage, tokensUnderWay: 90, nextStepTokens: 60 };

    expect(exhaustedLimit(known, budget({ tokens: 1150 }))).toBeNull();
    expect(exhaustedLimit(known, budget({ tokens: 1149 }))).toBe(
      'the next step would not fit the budget: 1090 of 1149 tokens used',
    );
    // Until it is asked for, nobody says that it does not fit.
    expect(exhaustedLimit({ ...known, nextStepTokens: null }, budget({ tokens: 1091 }))).toBeNull();
    expect(spendingOf(known, NO_BUDGET).tokensReserved).toBe(90);
  });

  test('the next warning is at four fifths of the limit that comes first', () => {
    const limits = budget({ tokens: 2000, dollars: 1.5e-3, dollarsPerMillionTokens: 1 });

    expect(nextWarningAt(1000, limits)).toBe(1200);
    expect(nextWarningAt(1200, limits)).toBe(1600);
    expect(nextWarningAt(1600, limits)).toBeNull();
    expect(nextWarningAt(0, NO_BUDGET)).toBeNull();
    expect([secondsAhead(10, 100), secondsAhead(80, 100), secondsAhead(90, 100)]).toEqual([70, 20, 10]);
  });

  test.each([
    [0.0499, 0.05, '$0.0499 of $0.05'],
    [0.04997, 0.05, '$0.04997 of $0.05'],
    [0.05, 0.05, '$0.05 of $0.05'],
    [12.3456, 20, '$12.35 of $20'],
    [19.9999, 20, '$19.9999 of $20'],
  ])('%d of %d dollars are told apart', (spent, limit, text) => {
    expect(dollarsOf(spent, limit)).toBe(text);
  });

  test('warns from four fifths of a limit on', () => {
    expect(nearLimits(usage, budget({ tokens: 1251, seconds: 75 }))).toEqual(['60 of 75 seconds']);
  });

  test('a limit in dollars needs a price, null takes a limit away', () => {
    expect(() => resolveBudget({ ...BY, limits: { dollars: 1 } }, NO_BUDGET)).toThrow(/needs a price/);
    expect(resolveBudget({ ...BY, limits: { dollars: 1 } }, NO_BUDGET, true)).toEqual(
      budget({ dollars: 1, dollarsPerMillionTokens: 0 }),
    );
    expect(resolveBudget({ ...BY, limits: { tokens: null } }, budget({ tokens: 5, seconds: 6 }))).toEqual(
      budget({ seconds: 6 }),
    );
    expect(() => {
      requireBudgetRequest({ ...BY, limits: { tokens: -1 } });
    }).toThrow(/above 0/);
    expect(() => {
      requireBudgetRequest({ ...BY, limits: { joules: 1 } });
    }).toThrow(/Unknown limit "joules"/);
    expect(() => {
      requireBudgetRequest({ ...BY, limits: {} });
    }).toThrow(/has to name/);
  });
});
