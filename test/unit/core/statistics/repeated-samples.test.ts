import { createRandom } from '../../../../src/core/random';
import { bootstrapInterval } from '../../../../src/core/statistics/bootstrap-interval';
import { clusteredStandardError } from '../../../../src/core/statistics/clustered-standard-error';
import { bestAtK, majorityAtK } from '../../../../src/core/statistics/majority-at-k';
import { meanOf } from '../../../../src/core/statistics/mean';
import {
  examplesToDetect,
  minimumDetectableDifference,
  powerToDetect,
} from '../../../../src/core/statistics/minimum-detectable-difference';
import { noiseFloor } from '../../../../src/core/statistics/noise-floor';
import { pairedDifference } from '../../../../src/core/statistics/paired-difference';
import { passAtK } from '../../../../src/core/statistics/pass-at-k';
import { passHatK } from '../../../../src/core/statistics/pass-hat-k';

const average = (values: readonly number[]) => meanOf(values)?.mean ?? NaN;

test('pass^k is the chance that all of k samples are right', () => {
  expect(passHatK(8, 5, 3)).toBeCloseTo(0.1785714, 7);
  expect(passHatK(4, 4, 4)).toBe(1);
  expect(passHatK(4, 2, 3)).toBe(0);
  expect(passHatK(3, 3, 4)).toBeNull();
  // With one sample it is the same as pass@1.
  expect(passHatK(7, 3, 1)).toBeCloseTo(passAtK(7, 3, 1) ?? NaN, 12);
});

test('best@k equals pass@k for right and wrong, and is exact for graded scores', () => {
  expect(bestAtK([1, 0, 1, 0, 0, 0], 2)).toBeCloseTo(passAtK(6, 2, 2) ?? NaN, 12);
  // By hand: pairs of 0.2, 0.5, 0.9 have the best 0.5, 0.9, 0.9.
  expect(bestAtK([0.9, 0.2, 0.5], 2)).toBeCloseTo(2.3 / 3, 12);
  expect(bestAtK([0.9, 0.2, 0.5], 1)).toBeCloseTo(1.6 / 3, 12);
  expect(bestAtK([0.5], 2)).toBeNull();
});

test('maj@k lets the most frequent answer speak', () => {
  const samples = ['18', '18', '18', '17', '16'].map((answer) => ({
    answer,
    score: Number(answer === '18'),
  }));

  expect(majorityAtK(samples, 5)).toBe(1);
  expect(majorityAtK(samples, 1)).toBeCloseTo(3 / 5, 12);
  // By hand, of ten subsets of three: one has three 18s, six have two; three have one, which is a third of a tie.
  expect(majorityAtK(samples, 3)).toBeCloseTo((1 + 6 + 3 / 3) / 10, 12);
  expect(majorityAtK(samples, 6)).toBeNull();
});

test('maj@k shares a tie, counts no answer as no vote, and does not depend on the order', () => {
  const right = { answer: 'a', score: 1 };
  const wrong = { answer: 'b', score: 0 };
  const none = { answer: null, score: 0 };

  expect(majorityAtK([right, wrong], 2)).toBe(0.5);
  expect(majorityAtK([wrong, right], 2)).toBe(0.5);
  expect(majorityAtK([none, none, right], 3)).toBe(1);
  expect(majorityAtK([none, none], 2)).toBe(0);
});

test('maj@k draws where there are too many subsets, the same for a seed', () => {
  const samples = Array.from({ length: 60 }, (_, index) => ({
    answer: index % 3 === 0 ? 'wrong' : 'right',
    score: Number(index % 3 !== 0),
  }));

  const drawn = majorityAtK(samples, 21, { seed: 5 });

  expect(drawn).toBeGreaterThan(0.93);
  expect(drawn).toBeLessThanOrEqual(1);
  expect(majorityAtK(samples, 21, { seed: 5 })).toBe(drawn);
});

test('clusters widen the error of the mean as far as they agree', () => {
  const values = [1, 1, 0, 0, 1, 0].map((value, index) => ({
    value,
    cluster: String(Math.floor(index / 2)),
  }));
  const alone = values.map(({ value }, index) => ({ value, cluster: String(index) }));

  // By hand: residual sums 1, -1, 0; √2 / 6.
  expect(clusteredStandardError(values)).toBeCloseTo(Math.SQRT2 / 6, 12);
  expect(clusteredStandardError(values, { correctForFewClusters: true })).toBeCloseTo(
    (Math.SQRT2 / 6) * Math.sqrt(3 / 2),
    12,
  );
  // A cluster an example, corrected, is the plain standard error.
  expect(clusteredStandardError(alone, { correctForFewClusters: true })).toBeCloseTo(
    meanOf(values.map(({ value }) => value))?.standardError ?? NaN,
    12,
  );
  expect(clusteredStandardError([{ value: 1, cluster: 'x' }])).toBeNull();
  expect(clusteredStandardError([])).toBeNull();
});

test('the bootstrap interval of a mean agrees with its standard error', () => {
  const random = createRandom(11);
  const values = Array.from({ length: 400 }, () => random());
  const { mean, standardError } = meanOf(values) ?? { mean: NaN, standardError: NaN };

  const interval = bootstrapInterval(values, average, { rounds: 2000, seed: 3 });

  const half = 1.96 * (standardError ?? NaN);
  expect(Math.abs((interval?.[0] ?? NaN) - (mean - half))).toBeLessThan(half * 0.15);
  expect(Math.abs((interval?.[1] ?? NaN) - (mean + half))).toBeLessThan(half * 0.15);
});

test('the bootstrap repeats itself for a seed, takes any statistic, and says nothing of nothing', () => {
  const values = [3, 1, 4, 1, 5, 9, 2, 6];
  const largest = (drawn: readonly number[]) => Math.max(...drawn);

  expect(bootstrapInterval(values, largest, { seed: 1 })).toEqual(
    bootstrapInterval(values, largest, { seed: 1 }),
  );
  expect(bootstrapInterval(values, largest)?.[1]).toBe(9);
  expect(bootstrapInterval([2, 2, 2], average)).toEqual([2, 2]);
  expect(bootstrapInterval([], average)).toBeNull();
});

test('a wider level gives a wider bootstrap interval', () => {
  const values = Array.from({ length: 50 }, (_, index) => index);

  const narrow = bootstrapInterval(values, average, { level: 0.5 }) ?? [NaN, NaN];
  const wide = bootstrapInterval(values, average, { level: 0.99 }) ?? [NaN, NaN];

  expect(wide[0]).toBeLessThan(narrow[0]);
  expect(wide[1]).toBeGreaterThan(narrow[1]);
});

test('says which difference a design can show', () => {
  // (1.959964 + 0.841621) · 0.5 / √1000.
  const paired = { kind: 'paired', n: 1000, differenceDeviation: 0.5 } as const;
  const unpaired = { kind: 'unpaired', n: [1000, 1000], deviations: [0.5, 0.5] } as const;

  expect(minimumDetectableDifference(paired)).toBeCloseTo(0.044297, 6);
  expect(minimumDetectableDifference(unpaired)).toBeCloseTo(0.044297 * Math.SQRT2, 6);
  expect(minimumDetectableDifference(paired, { alpha: 0.01 })).toBeGreaterThan(
    minimumDetectableDifference(paired),
  );
  expect(powerToDetect(minimumDetectableDifference(paired), paired)).toBeCloseTo(0.8, 9);
  expect(examplesToDetect(minimumDetectableDifference(paired), 0.5)).toBe(1000);
  expect(examplesToDetect(0.03, 0.5)).toBe(2181);
});

test('the noise floor is what two runs of one model differ by', () => {
  const chances = Array.from({ length: 200 }, (_, index) => (index % 10) / 9);
  const random = createRandom(7);
  const draw = (chance: number) => Number(random() < chance);

  const floor = noiseFloor(chances.map((chance) => Array.from({ length: 64 }, () => draw(chance))));

  // Var = 2 · mean(p(1 − p)) / n.
  const variance = average(chances.map((chance) => chance * (1 - chance)));
  expect(floor?.standardError).toBeCloseTo(Math.sqrt((2 * variance) / 200), 3);
  // Differences of simulated pairs of runs stay below it about 95 % of the time.
  const differences = Array.from({ length: 2000 }, () =>
    Math.abs(
      pairedDifference(chances.map((chance) => [draw(chance), draw(chance)] as const))?.difference ?? NaN,
    ),
  );
  const below = differences.filter((difference) => difference <= (floor?.difference ?? NaN)).length / 2000;
  expect(below).toBeGreaterThan(0.93);
  expect(below).toBeLessThan(0.97);
});

test('the noise floor sinks with samples, is 0 for a model that repeats itself, and needs two samples', () => {
  const scores = [
    [0, 1],
    [1, 1],
  ];

  const one = noiseFloor(scores);
  const four = noiseFloor(scores, { samplesPerExample: 4 });

  expect(four?.difference).toBeCloseTo((one?.difference ?? NaN) / 2, 12);
  expect(
    noiseFloor([
      [1, 1],
      [0, 0],
    ])?.difference,
  ).toBe(0);
  expect(noiseFloor([[1], [0]])).toBeNull();
});
