import { meanOf, ratioOf } from '../../../../src/core/statistics/mean';
import { pairedDifference } from '../../../../src/core/statistics/paired-difference';
import { passAtK } from '../../../../src/core/statistics/pass-at-k';
import { wilsonInterval } from '../../../../src/core/statistics/wilson-interval';
import { readVectors } from '../../renderers/vector-files';

/** Right and wrong answers of published GSM8K solutions (openai/grade-school-math), 1,319 problems. */
const GSM8K_COUNT = 1319;

function outcomes(correctCount: number, count = GSM8K_COUNT): number[] {
  return Array.from({ length: count }, (_, index) => Number(index < correctCount));
}

test.each([
  ['6b_finetuning', 286, 0.216831, 0.01135091, 0.195431, 0.239875],
  ['6b_verification', 515, 0.390447, 0.01343783, 0.364474, 0.417057],
  ['175b_finetuning', 458, 0.347233, 0.013113898, 0.322017, 0.373336],
  ['175b_verification', 742, 0.562547, 0.013664299, 0.535633, 0.589099],
])(
  'gives the known mean, standard error and Wilson interval of %s',
  (_name, correct, mean, error, low, high) => {
    const result = meanOf(outcomes(correct));
    const interval = wilsonInterval(correct, GSM8K_COUNT);

    expect(result?.mean).toBeCloseTo(mean, 6);
    expect(result?.standardError).toBeCloseTo(error, 8);
    expect(interval?.[0]).toBeCloseTo(low, 6);
    expect(interval?.[1]).toBeCloseTo(high, 6);
  },
);

test.each([
  ['175b_verification - 6b_verification', 306, 79, 0.1721, 0.014106396, 12.2001],
  ['6b_verification - 175b_finetuning', 209, 152, 0.043215, 0.014361068, 3.0091],
  ['175b_verification - 175b_finetuning', 360, 76, 0.215315, 0.014684157, 14.6631],
])('gives the known paired difference of %s', (_name, onlyFirst, onlySecond, difference, error, z) => {
  const both = GSM8K_COUNT - onlyFirst - onlySecond;
  const pairs = [
    ...Array.from({ length: onlyFirst }, () => [1, 0] as const),
    ...Array.from({ length: onlySecond }, () => [0, 1] as const),
    ...Array.from({ length: both }, () => [1, 1] as const),
  ];

  const result = pairedDifference(pairs);

  expect(result?.difference).toBeCloseTo(difference, 5);
  expect(result?.standardError).toBeCloseTo(error, 8);
  expect(result?.z).toBeCloseTo(z, 3);
  expect(result?.interval?.[0]).toBeCloseTo(difference - 1.959964 * error, 5);
});

test('pairing finds what comparing the two means misses', () => {
  const [first, second] = [meanOf(outcomes(515)), meanOf(outcomes(458))];
  const unpairedError = Math.hypot(first?.standardError ?? NaN, second?.standardError ?? NaN);

  const unpairedZ = ((first?.mean ?? NaN) - (second?.mean ?? NaN)) / unpairedError;

  // Against 3.0091 for the same two, paired.
  expect(unpairedError).toBeCloseTo(0.018776304, 9);
  expect(unpairedZ).toBeCloseTo(2.3015, 4);
});

test('says nothing of an empty sample, and gives no error for a single value', () => {
  expect(meanOf([])).toBeNull();
  expect(meanOf([0.5])).toEqual({ mean: 0.5, standardError: null, n: 1 });
  expect(wilsonInterval(0, 0)).toBeNull();
  expect(pairedDifference([])).toBeNull();
  expect(pairedDifference([[1, 0]])).toEqual({
    difference: 1,
    standardError: null,
    z: null,
    interval: null,
    n: 1,
  });
  expect(
    pairedDifference([
      [1, 0],
      [1, 0],
    ])?.z,
  ).toBeNull();
});

test('keeps the interval of a perfect score within bounds and not empty', () => {
  const [low, high] = wilsonInterval(200, 200) ?? [NaN, NaN];

  expect(high).toBe(1);
  expect(low).toBeCloseTo(0.981154, 5);
});

test('weighs parts of a ratio by their denominators', () => {
  const ratio = ratioOf([
    { numerator: 2, denominator: 1 },
    { numerator: 3, denominator: 3 },
  ]);

  // By hand: ratio 5/4; residuals 0.75 and −0.75; √(2 · 1.125) / 4.
  expect(ratio).toEqual({ mean: 1.25, standardError: Math.sqrt(2.25) / 4, n: 2 });
  expect(ratioOf([{ numerator: 0, denominator: 0 }])).toBeNull();
  expect(ratioOf([{ numerator: 3, denominator: 2 }])).toEqual({ mean: 1.5, standardError: null, n: 1 });
});

test('equals the plain mean and its error where all denominators are 1', () => {
  const values = [0.1, 0.9, 0.4, 0.4, 1.3];
  const ratio = ratioOf(values.map((numerator) => ({ numerator, denominator: 1 })));
  const mean = meanOf(values);

  expect(ratio?.mean).toBeCloseTo(mean?.mean ?? NaN, 12);
  expect(ratio?.standardError).toBeCloseTo(mean?.standardError ?? NaN, 12);
});

test.each([
  [6, 3, 1, 0.5],
  [10, 3, 5, 0.9166667],
  [200, 17, 10, 0.5974489],
  [200, 17, 100, 0.9999964],
  [5, 5, 5, 1],
  [5, 0, 5, 0],
])('pass@k of %d samples, %d correct, k %d', (n, c, k, expected) => {
  expect(passAtK(n, c, k)).toBeCloseTo(expected, 7);
});

test('does not know pass@k with fewer than k samples', () => {
  expect(passAtK(3, 3, 4)).toBeNull();
});

test('agrees with the reference on pass@k', () => {
  const cases = readVectors<{ n: number; c: number; k: number }, number>(
    'pass_at_k.json',
    'eval.benchmarks._runner._pass_at_k_single',
  );

  for (const { input, expected } of cases ?? []) {
    if (input.n >= input.k) expect(passAtK(input.n, input.c, input.k)).toBeCloseTo(expected, 10);
  }
});
