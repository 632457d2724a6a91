import { endsInOpenBox, findBoxes } from '../../../../src/evaluation/graders/boxed';

test.each([
  ['\\boxed{42}', ['42']],
  ['\\boxed{\\frac{1}{2}} and \\boxed{\\{1,2\\}}', ['\\frac{1}{2}', '\\{1,2\\}']],
  ['\\boxed{a\\boxed{b}}', ['a\\boxed{b}', 'b']],
  ['\\boxed{unclosed and \\boxed{8}', ['8']],
  ['text } \\boxed{3} {', ['3']],
  ['\\boxed {3}', ['3']],
  ['\\boxed 7 and', ['7']],
  ['\\\\boxed{9}', ['9']],
  ['\\boxed{}', ['']],
  ['\\fbox{3} Boxed{3} \\boxed', ['3']],
  ['\\boxed 7.5, then', ['7.5']],
  ['mark it with \\boxed and go', []],
  ['in a \\boxed environment.', []],
  ['\\boxed . Then 6', []],
  ['\\boxedfoo{1}', []],
])('%j holds %j', (text, contents) => {
  expect(findBoxes(text).map(({ content }) => content)).toEqual(contents);
});

test.each([
  ['\\boxed{1} and \\boxed{2', true],
  ['\\boxed{1 and \\boxed{2}', false],
  ['\\boxed {\\{1\\}', true],
  ['\\boxed{\\frac{1}{2', true],
  ['\\boxed{2 or \\boxed 7', false],
  ['\\boxed{2 in a \\boxed environment.', true],
  ['} \\boxed{2}', false],
  ['\\\\boxed{2', true],
  ['none', false],
])('whether the last box of %j is left open: %s', (text, isOpen) => {
  expect(endsInOpenBox(text)).toBe(isOpen);
});
