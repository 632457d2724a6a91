import { mcnemarChiSquared, mcnemarExact } from '../../../../src/core/statistics/mcnemar';
import { benjaminiHochberg, holm } from '../../../../src/core/statistics/multiple-comparisons';
import {
  normalCdf,
  normalQuantile,
  normalTwoSided,
} from '../../../../src/core/statistics/normal-distribution';
import { studentCdf, studentTwoSided } from '../../../../src/core/statistics/t-distribution';
import { wilcoxonSignedRank } from '../../../../src/core/statistics/wilcoxon-signed-rank';

/** Expected values are scipy 1.17.1's and statsmodels' unless a line says otherwise. */

function expectClose(value: number | undefined, expected: number, relative = 1e-10): void {
  expect(Math.abs((value ?? NaN) - expected)).toBeLessThanOrEqual(Math.abs(expected) * relative);
}

test.each([
  [0, 1],
  [0.5, 0.6170750774519738],
  [1.96, 0.04999579029644087],
  [3.0091, 0.002620228565812976],
  [5, 5.733031437583866e-7],
  [12.2001, 3.1044247020604654e-34],
  [30, 9.813427854295816e-198],
])('two-sided p-value of z = %d', (z, expected) => {
  expectClose(normalTwoSided(z), expected);
  expectClose(normalTwoSided(-z), expected);
  expectClose(normalCdf(-z), expected / 2);
  expectClose(normalCdf(z), 1 - expected / 2);
});

test.each([
  [0.8, 0.8416212335729143],
  [0.975, 1.959963984540054],
  [0.9995, 3.2905267314919255],
  [1e-10, -6.361340902404056],
  [0.3, -0.5244005127080409],
])('normal quantile of %d', (probability, expected) => {
  expectClose(normalQuantile(probability), expected, 1e-11);
});

test('knows the ends of the normal distribution, and refuses what is no probability', () => {
  expect(normalQuantile(0.5)).toBe(0);
  expect(normalQuantile(0)).toBe(-Infinity);
  expect(normalQuantile(1)).toBe(Infinity);
  expect(normalQuantile(1.2)).toBeNaN();
  expect(normalTwoSided(Infinity)).toBe(0);
});

test.each([
  [0, 7, 1],
  [1, 1, 0.5],
  [2.5, 4, 0.06676654481198814],
  [3.0091, 1318, 0.0026699742809518736],
  [0.3, 9, 0.7709907037415248],
  [12, 3, 0.0012450158007893362],
  [40, 200, 2.2487396535202197e-97],
])('two-sided p-value of t = %d with %d degrees of freedom', (t, degrees, expected) => {
  expectClose(studentTwoSided(t, degrees), expected);
  expectClose(studentCdf(-t, degrees), expected / 2);
  expectClose(studentCdf(t, degrees), 1 - expected / 2);
});

test('gives no p-value without degrees of freedom', () => {
  expect(studentTwoSided(1, 0)).toBeNaN();
  expect(studentTwoSided(Infinity, 3)).toBe(0);
});

test.each([
  [306, 79, 1.2400534250724266e-32],
  [209, 152, 0.003150656880360618],
  [360, 76, 2.8913946350346335e-45],
  [5, 0, 0.0625],
  [0, 5, 0.0625],
  [3, 1, 0.625],
  [7, 7, 1],
  [0, 0, 1],
  [10, 4, 0.1795654296875],
])('exact McNemar of %d and %d', (onlyFirst, onlySecond, expected) => {
  expectClose(mcnemarExact(onlyFirst, onlySecond), expected);
});

test.each([
  [306, 79, 132.66493506493507, 1.0703437041609494e-30],
  [209, 152, 8.686980609418283, 0.003204911127755157],
  [360, 76, 183.69036697247705, 7.58066951725794e-42],
  [0, 0, 0, 1],
  [4, 4, 0, 1],
])('McNemar by chi-squared of %d and %d', (onlyFirst, onlySecond, chiSquared, pValue) => {
  const result = mcnemarChiSquared(onlyFirst, onlySecond);

  expectClose(result.chiSquared, chiSquared);
  expectClose(result.pValue, pValue);
});

test("ranks Darwin's maize plants as published", () => {
  const result = wilcoxonSignedRank([6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]);

  expect(result).toMatchObject({ positiveRanks: 96, negativeRanks: 24, n: 15, method: 'exact' });
  expectClose(result.pValue, 0.041259765625);
});

test('counts every choice of signs also where ranks are shared', () => {
  // By hand: all 256 choices of signs over the ranks 2, 2, 2, 4.5, 4.5, 6.5, 6.5, 8.
  const result = wilcoxonSignedRank([1, 1, -1, 2, 2, 3, -3, 4]);

  expect(result).toMatchObject({ positiveRanks: 27.5, negativeRanks: 8.5 });
  expectClose(result.pValue, 0.2421875);
});

test('uses the normal distribution, corrected for ties, above 50 differences', () => {
  const differences = Array.from({ length: 120 }, (_, index) => ((index * 37) % 11) - 4);

  const result = wilcoxonSignedRank(differences);

  expect(result.method).toBe('normal');
  expect(Math.min(result.positiveRanks, result.negativeRanks)).toBe(1941.5);
  expectClose(result.pValue, 0.001346240831104799, 1e-9);
});

test('finds nothing where nothing differs', () => {
  expect(wilcoxonSignedRank([0, 0])).toMatchObject({ n: 0, pValue: 1 });
  expect(wilcoxonSignedRank([])).toMatchObject({ n: 0, pValue: 1 });
});

test('corrects for many comparisons, in the order given', () => {
  const pValues = [0.01, 0.04, 0.03, 0.005, 0.2];

  const byHolm = holm(pValues);
  const byBenjaminiHochberg = benjaminiHochberg(pValues);

  [0.04, 0.09, 0.09, 0.025, 0.2].forEach((expected, index) => {
    expectClose(byHolm[index], expected);
  });
  [0.025, 0.05, 0.05, 0.025, 0.2].forEach((expected, index) => {
    expectClose(byBenjaminiHochberg[index], expected);
  });
  expect(holm([0.9, 0.8])).toEqual([1, 1]);
  expect(holm([])).toEqual([]);
  expect(benjaminiHochberg([0.03])).toEqual([0.03]);
});
