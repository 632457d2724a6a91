import type { EvaluationGate, GateRule, GateScore } from '../../../../src/core/gates/gate';
import type { GateEvidence } from '../../../../src/core/gates/judge-gate';
import { judgeGate, lackToReplace } from '../../../../src/core/gates/judge-gate';
import { differenceInterval, scoreInterval } from '../../../../src/core/gates/score-interval';

const gate = (rule: GateRule, more: Partial<EvaluationGate> = {}): EvaluationGate => ({
  evaluator: 'sums',
  metric: 'test/sums/accuracy',
  rule,
  on: 'interval',
  otherwise: 'hold',
  promotes: true,
  higherIsBetter: true,
  ...more,
});

/** A share of `n` examples that are right. */
const share = (value: number, n: number, step = 10): GateScore => ({
  ...{ step, value, n },
  stderr: Math.sqrt((value * (1 - value)) / n),
});

const evidence = (more: Partial<GateEvidence>): GateEvidence => ({
  ...{ score: null, base: null, best: null, paired: null },
  ...more,
});

describe('the interval of a score', () => {
  test("is Wilson's where values are 0 or 1, as published for 81 of 263", () => {
    const [low, high] = scoreInterval(share(81 / 263, 263), 0.95) ?? [];

    // Newcombe 1998, Statistics in Medicine 17:857, table I, method 3.
    expect(low).toBeCloseTo(0.2553, 4);
    expect(high).toBeCloseTo(0.3662, 4);
  });

  test('of a difference of proportions is the hybrid score interval, as published for 56/70 and 48/80', () => {
    const [low, high] = differenceInterval(share(56 / 70, 70), share(48 / 80, 80), 0.95) ?? [];

    // Newcombe 1998, Statistics in Medicine 17:873, table II, method 10.
    expect(low).toBeCloseTo(0.0524, 4);
    expect(high).toBeCloseTo(0.3339, 4);
  });

  test('is not known without an error', () => {
    expect(scoreInterval({ value: 0.5, stderr: null, n: 10 }, 0.95)).toBeNull();
    expect(differenceInterval({ value: 0.5, stderr: null, n: 1 }, share(0.5, 10), 0.95)).toBeNull();
  });
});

describe('a gate', () => {
  test.each<[string, GateRule, Partial<EvaluationGate>, Partial<GateEvidence>, string]>([
    ['the whole interval has to be high enough', { atLeast: 0.8 }, {}, { score: share(0.9, 100) }, 'passed'],
    ['a lower end below the bound fails', { atLeast: 0.85 }, {}, { score: share(0.9, 100) }, 'failed'],
    [
      'on value the number counts alone',
      { atLeast: 0.85 },
      { on: 'value' },
      { score: share(0.9, 100) },
      'passed',
    ],
    [
      'of a loss the upper end counts',
      { atMost: 1 },
      { higherIsBetter: false },
      { score: { step: 5, value: 0.95, stderr: 0.04, n: 20 } },
      'failed',
    ],
    [
      'of a loss that is low enough with its upper end',
      { atMost: 1 },
      { higherIsBetter: false },
      { score: { step: 5, value: 0.9, stderr: 0.04, n: 20 } },
      'passed',
    ],
    [
      'a loss that is far too high',
      { atMost: 1 },
      { higherIsBetter: false },
      { score: { step: 5, value: 2, stderr: 0.04, n: 20 } },
      'failed',
    ],
    ['a missing score decides nothing', { atLeast: 0 }, {}, {}, 'undecided'],
    [
      'a score without an error has no interval to decide by',
      { atLeast: 0 },
      {},
      { score: { step: 5, value: 1, stderr: null, n: 1 } },
      'undecided',
    ],
    [
      'the first one is no worse than none',
      { notWorseThanBest: 0.95 },
      {},
      { score: share(0.1, 10) },
      'passed',
    ],
    [
      'a drop within the noise is no worse',
      { notWorseThanBest: 0.95 },
      {},
      { score: share(0.5, 20), best: share(0.55, 20, 5) },
      'passed',
    ],
    [
      'a drop beyond the noise is worse',
      { notWorseThanBest: 0.95 },
      {},
      { score: share(0.5, 2000), best: share(0.55, 2000, 5) },
      'failed',
    ],
    [
      'before the first promotion the base model counts as the best',
      { notWorseThanBest: 0.95 },
      {},
      { score: share(0.1, 100), base: share(0.9, 100, 0) },
      'failed',
    ],
    [
      'an improvement within the noise is none',
      { improvesOnBase: 0.95 },
      {},
      { score: share(0.55, 20), base: share(0.5, 20, 0) },
      'failed',
    ],
    [
      'the same examples show what the means do not',
      { improvesOnBase: 0.95 },
      {},
      {
        score: share(0.55, 100),
        base: share(0.45, 100, 0),
        paired: { difference: 0.1, standardError: 0.03, n: 100 },
      },
      'passed',
    ],
    ['without step 0 there is no base', { improvesOnBase: 0.95 }, {}, { score: share(1, 10) }, 'undecided'],
    [
      'a loss improves by falling',
      { improvesOnBase: 0.95 },
      { higherIsBetter: false, on: 'value' },
      { score: share(0.4, 10), base: share(0.5, 10, 0) },
      'passed',
    ],
  ])('%s', (_rule, rule, more, known, outcome) => {
    expect(judgeGate(gate(rule, more), evidence(known)).outcome).toBe(outcome);
  });

  test('says which numbers it decided by', () => {
    const { text } = judgeGate(gate({ atLeast: 0.9 }), evidence({ score: share(0.5, 100) }));

    expect(text).toBe('test/sums/accuracy 0.5 [0.4038, 0.5962] is not at least 0.9');
  });

  test.each([
    [
      'a difference inside both intervals',
      {},
      share(0.82, 100, 20),
      /^not significantly better than step 10: difference \[-0/,
    ],
    ['one that is worse', {}, share(0.7, 100, 20), /^not better than step 10$/],
    ['an equal one', {}, share(0.8, 100, 20), /^not better than step 10$/],
    ['one without an interval', {}, { ...share(0.9, 100, 20), stderr: null }, /only "by: point" can tell/],
    [
      'one that is lower where lower is better',
      { higherIsBetter: false },
      share(0.79, 100, 20),
      /^not significantly/,
    ],
  ])('does not replace the best by %s', (_, more, score, lack) => {
    const compared = { score, other: share(0.8, 100), paired: null };

    expect(lackToReplace(gate({ atLeast: 0.5 }, { by: 'significance', ...more }), compared)).toMatch(lack);
  });

  test.each([
    ['one that is better with significance', { by: 'significance' as const }, share(0.95, 200, 20), null],
    [
      'one whose examples tell more than both intervals',
      { by: 'significance' as const },
      share(0.82, 100, 20),
      { difference: 0.02, standardError: 0.005, n: 100 },
    ],
    ['a larger number, by the point', { by: 'point' as const }, share(0.82, 100, 20), null],
    ['a larger number in runs begun before there was a choice', {}, share(0.82, 100, 20), null],
    [
      'one that is lower with significance where lower is better',
      { by: 'significance' as const, higherIsBetter: false },
      share(0.2, 100, 20),
      null,
    ],
  ])('replaces the best by %s', (_, more, score, paired) => {
    const compared = { score, other: share(0.8, 100), paired };

    expect(lackToReplace(gate({ atLeast: 0.5 }, more), compared)).toBeNull();
  });

  test('decides nothing against a promoted checkpoint that nobody measured', () => {
    const known = evidence({
      score: share(0.9, 100),
      base: share(0.5, 100),
      unmeasured: { run: 'mine', step: 5 },
    });

    expect(judgeGate(gate({ notWorseThanBest: 0.95 }), known)).toEqual({
      outcome: 'undecided',
      text: 'test/sums/accuracy 0.9 [0.8256, 0.9448], and step 5, which was promoted, has no test/sums/accuracy to compare with: `everstep runs eval mine@5 --evaluator sums` measures it',
    });
    expect(judgeGate(gate({ atLeast: 0.8 }), known).outcome).toBe('passed');
  });
});
