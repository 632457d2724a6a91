import {
  closeMathGraders,
  mathEquivalenceRows,
} from '../../../../../src/evaluation/graders/math/math-graders';

afterAll(() => closeMathGraders());

async function isRight(given: string, expected: string): Promise<number> {
  return (await mathEquivalenceRows.grade(given, { expected })).value;
}

test.each([
  ['x \\le 2 \\text{ or } x > 3', '(-\\infty, 2] \\cup (3, \\infty)'],
  ['x<-1 or x>1', '(-\\infty,-1)\\cup(1,\\infty)'],
  ['0<x<1 \\text{ or } 2 < x \\le 3', '(0,1)\\cup(2,3]'],
  ['x \\neq -4', '(-\\infty,-4)\\cup(-4,\\infty)'],
  ['x=2 \\text{ or } x=3', '2, 3'],
  ['\\boxed{15\\ \\mathrm{cm^2}}', '15'],
  ['\\boxed{15\\ \\mathrm{cm}^2}', '15\\mathrm{cm^{2}}'],
  ['\\boxed{9.8\\ \\mathrm{m/s^2}}', '9.8'],
  ['\\boxed{864 \\text{ in}^2}', '864 \\mbox{ inches}^2'],
  ['\\boxed{12 \\text{ in}}', '12'],
  ['\\boxed{4\\pi\\text{ square units}}', '4\\pi'],
  ['\\sqrt{1/n}', '\\frac{1}{\\sqrt n}'],
  ['2714', '2714_8'],
  ['abs(x-1)', '|x-1|'],
  ['2*x**(n+1)', '2x^{n+1}'],
  ['x**2+y**10', 'x^2+y^{10}'],
  ['\\fbox{7}', '7'],
  ['**5**', '5'],
  ['\\boxed{\\text{The area is } 25}', '25'],
  ['\\boxed{\\text{Area: } 25}', '25'],
  ['\\boxed{\\text{The answer is 72}}', '72'],
  ['\\boxed{k\\pi \\text{ where } k \\in \\mathbb{Z}}', 'k\\pi'],
  ['\\boxed{3\\frac12}', '3.5'],
  ['\\boxed{-5}', '−5'],
  ['\\sum_{i=1}^{5} i^2', '55'],
  ['3+2i', '2i+3'],
])('%s is %s', async (given, expected) => {
  expect(await isRight(given, expected)).toBe(1);
});

test.each([
  ['x < 2 \\text{ or } y > 3', '(-\\infty, 2) \\cup (3, \\infty)'],
  ['x < 2 \\text{ or } x > 3', '(-\\infty, 2] \\cup (3, \\infty)'],
  ['\\boxed{15\\ \\mathrm{cm^2}}', '15\\text{ cm}'],
  ['\\boxed{5\\text{ m/s}}', '5 \\text{ km/h}'],
  ['\\sqrt{x^2}', 'x'],
  ['\\sqrt{-x}', '\\sqrt{x}'],
  ['2714_9', '2714_8'],
  ['\\boxed{\\text{Area} = 25}', '\\text{Perimeter} = 25'],
  ['\\boxed{\\text{Monday}}', '\\text{Tuesday}'],
  ['\\boxed{–5}', '5'],
  ['\\boxed{7}, no: \\boxed{12', '7'],
])('%s is not %s', async (given, expected) => {
  expect(await isRight(given, expected)).toBe(0);
});
