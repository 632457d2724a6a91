import { MathEquivalence } from '../../../../../src/evaluation/graders/math/math-equivalence';
import * as pairs from './labelled-pairs';
import * as lookalikes from './lookalikes';

const equivalence = new MathEquivalence();

afterAll(() => equivalence.close());

describe.each(Object.entries(pairs))('decides by mathematics: %s', (_name, rows) => {
  test.each(rows)('%s against %s: %s', async (given, expected, isEqual) => {
    const verdict = await equivalence.judge(given, expected);

    expect({ isEqual: verdict.isEqual, limit: verdict.limit }).toEqual({ isEqual, limit: undefined });
  });
});

describe.each(Object.entries(lookalikes))('tells apart in both directions: %s', (_name, rows) => {
  test.each(rows)('%s and %s', async (left, right) => {
    const forwards = await equivalence.judge(left, right);
    const backwards = await equivalence.judge(right, left);

    expect([forwards.isEqual, backwards.isEqual]).toEqual([false, false]);
  });
});

const HOSTILE: readonly (readonly [string, string])[] = [
  ['a tower of powers', '9^{9^{9^9}}'],
  ['a factorial of a power', '(10^{10^{10}})!'],
  ['deep brackets', `${'('.repeat(3000)}1${')'.repeat(3000)}`],
  ['deep fractions', `${'\\frac{'.repeat(500)}1${'}{2}'.repeat(500)}`],
  ['unclosed braces', '{'.repeat(5000)],
  ['unclosed brackets', '[1,'.repeat(2000)],
  ['many digits', `1${'0'.repeat(9000)}`],
  ['many signs', `${'\\pm'.repeat(200)}1`],
  ['many sides', '=1'.repeat(2000)],
  ['a control character', '\u0000'],
  ['Python', '__import__("os").system("exit 1")'],
  ['Python in a box', '\\boxed{exec("raise SystemExit")}'],
  ['a megabyte of backslashes', '\\'.repeat(1_000_000)],
  ['a megabyte of dollars', '$1'.repeat(500_000)],
  ['a megabyte of words', 'word '.repeat(200_000)],
];

test.each(HOSTILE)('is not shaken by %s', async (_name, given) => {
  const verdict = await equivalence.judge(given, 'x+2');

  expect(verdict.isEqual).toBe(false);
});

test('ends a question that runs too long, and answers the next one', async () => {
  const hurried = new MathEquivalence(3000);
  await hurried.judge('x+x', '2x');

  const hanging = await hurried.judge('\\int \\frac{\\sin(x^2)\\sqrt{x+1}}{x+e^x} dx', 'x+1');
  const next = await hurried.judge('\\frac{a+b}{c}', '\\frac{a}{c}+\\frac{b}{c}');
  await hurried.close();

  expect(hanging).toMatchObject({ isEqual: false, limit: 'time' });
  expect(next).toMatchObject({ isEqual: true });
});

test('says who decided', async () => {
  expect(await equivalence.judge('0.5', '\\frac{1}{2}')).toMatchObject({ path: 'fast' });
  expect((await equivalence.judge('x+x', '2x')).path).toMatch(/^(pyodide|python3)$/);
});

test('refuses a reference without an answer', async () => {
  await expect(equivalence.judge('1', ' ')).rejects.toMatchObject({ code: 'bad-dataset' });
});
