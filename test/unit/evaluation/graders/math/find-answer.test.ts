import { findAnswer } from '../../../../../src/evaluation/graders/math/find-answer';

test.each([
  ['the last box', 'First \\boxed{1}, then \\boxed{2}', '2'],
  ['nested braces', 'so $\\boxed{\\frac{1}{2}}$.', '\\frac{1}{2}'],
  ['boxes that belong together', '\\boxed{1} and \\boxed{2}', '1, 2'],
  ['a box before "answer is"', 'The answer is 3, as \\boxed{4}', '4'],
  ['the last "answer is"', 'The answer is 3. No, the answer is 4.', '4'],
  [
    'a formula behind "answer is"',
    'The final answer is $\\frac{1}{2}$. I hope it is correct.',
    '\\frac{1}{2}',
  ],
  ['a decimal behind "answer is"', 'The answer is 3.5. Done.', '3.5'],
  ['the last formula', 'With $a=1$ we get $b=2$.', 'b=2'],
  ['display mathematics', 'Thus \\[x = 7\\]', 'x = 7'],
  ['the number a formula only names', 'The largest $n$ is 34.', '34'],
  ['a bare expression', ' 2x + 1 ', '2x + 1'],
  ['a bare text', 'June 20', 'June 20'],
  ['the last number of a sentence', 'There are 3 cats and 12 dogs in the house', '12'],
  ['prices, which are no formulas', 'They cost $5 each and so $10 together', '$10'],
])('reads %s', (_name, text, answer) => {
  expect(findAnswer(text)).toBe(answer);
});

test.each(['', '   ', '\\boxed{}', 'word '.repeat(100)])('finds nothing in %j', (text) => {
  expect(findAnswer(text)).toBeNull();
});
