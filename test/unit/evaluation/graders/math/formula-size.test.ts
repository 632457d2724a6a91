import { isSmallEnough } from '../../../../../src/evaluation/graders/math/formula-size';
import { closeMathGraders, math500 } from '../../../../../src/evaluation/graders/math/math-graders';

afterAll(closeMathGraders);

const nested = (open: string, inside: string, close: string, count: number) =>
  open.repeat(count) + inside + close.repeat(count);

const HOSTILE: readonly (readonly [string, string])[] = [
  ['a tower of powers', '9^{9^{9^{9}}}'],
  ['a long tower', nested('2^{', '2', '}', 30)],
  ['a huge exponent', '3^{99999999}'],
  ['a huge exponent behind brackets', '(1+2)^{99999999}'],
  ['a decimal to a huge power', '1.0000001^{1000000000}'],
  ['digits to a power', `${'7'.repeat(300)}^{9999}`],
  ['a factorial', '10000000!'],
  ['a binomial', '\\binom{1000000}{500000}'],
  ['a long sum', '\\sum_{i=1}^{100000000} i^{i}'],
  ['brackets', nested('(1+', 'x', ')', 30)],
  ['roots', nested('\\sqrt{', '2', '}', 50)],
  ['fractions', nested('\\frac{1}{1+', 'x', '}', 15)],
  ['thousands of braces', nested('{', '1', '}', 1900)],
  ['more than people write', '1+'.repeat(900) + 'x'],
];

test.each(HOSTILE)('%s is not calculated, whatever the machine', async (_what, formula) => {
  const { value, details } = await math500.grade(`\\boxed{${formula}}`, {
    id: 'x',
    prompt: '',
    target: '\\frac{x}{2}+1',
  } as never);

  expect({ value, details }).toEqual({ value: 0, details: { path: 'fast' } });
});

test.each([
  ['a factorial to a power', '(5000!)^{5000}'],
  ['a power of a power', '((1+2)^{9999})^{9999}'],
  ['a root of thousands of digits', '\\sqrt{3^{19999}+1}'],
  ['a high root', '\\sqrt[9999]{3^{19999}+1}'],
  ['a binomial of calculated numbers', '\\binom{10^{9}}{5\\cdot 10^{8}}'],
  ['a factorial between whole numbers', '\\Gamma(10^{6}+\\frac{1}{2})'],
  ['a sum of huge powers', '\\sum_{i=1}^{999} i^{999}'],
])('%s is given up for its size, and the score says so', async (_what, formula) => {
  const { value, details } = await math500.grade(`\\boxed{${formula}}`, {
    id: 'x',
    prompt: '',
    target: '\\sqrt{2}+1',
  } as never);

  expect({ value, details }).toMatchObject({ value: 0, details: { limit: 'size' } });
});

test('a whole number that both work out is no reason to give up', async () => {
  const { value } = await math500.grade('\\boxed{\\sqrt{9^{5000}}}', {
    id: 'x',
    prompt: '',
    target: '3^{5000}',
  } as never);

  expect(value).toBe(1);
});

test.each([
  '2^{2023}',
  '2^{2^{10}}',
  '3^{10000}-1',
  '100!',
  '\\binom{2024}{3}',
  '\\sqrt{2+\\sqrt{2+\\sqrt{2+\\sqrt{2}}}}',
  '\\frac{1}{1+\\frac{1}{1+\\frac{1}{1+x}}}',
  '\\sum_{i=1}^{100} i^{2}',
])('%s is', (formula) => {
  expect(isSmallEnough(formula)).toBe(true);
});
