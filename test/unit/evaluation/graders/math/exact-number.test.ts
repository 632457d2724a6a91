import { readNumber } from '../../../../../src/evaluation/graders/math/exact-number';

test.each([
  ['42', '42/1'],
  ['-0.50', '-1/2'],
  ['+7', '7/1'],
  ['.25', '1/4'],
  ['1,234,567.5', '2469135/2'],
  ['1 000', '1000/1'],
  ['6/4', '3/2'],
  ['\\frac{-6}{4}', '-3/2'],
  ['7\\frac{3}{4}', '31/4'],
  ['-1 1/2', '-3/2'],
  ['1.5e3', '1500/1'],
  ['1.23\\cdot10^{-4}', '123/1000000'],
  ['0.1\\overline{6}', '1/6'],
  ['2^{10}', '1024/1'],
])('%s is %s', (text, expected) => {
  const value = readNumber(text);

  expect(value && `${value.numerator}/${value.denominator}`).toBe(expected);
});

test.each(['', '1,23', '1/0', '2\\frac{3}{2}', '3 4', '1.2.3', '0^{0}', 'x', '1e9999', '9^{9999}', '-'])(
  '%j is not read as a number',
  (text) => {
    expect(readNumber(text)).toBeNull();
  },
);
