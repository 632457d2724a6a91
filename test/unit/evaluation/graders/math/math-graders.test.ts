import {
  closeMathGraders,
  math500,
  math500Rows,
  aime,
  aimeRows,
  hmmtRows,
} from '../../../../../src/evaluation/graders/math/math-graders';
import { findRowGrader } from '../../../../../src/evaluation/graders/find-row-grader';
import { gradeResponses } from '../../../../../src/evaluation/graders/grade-responses';

const example = { id: 'one', messages: [] };

afterAll(() => closeMathGraders());

test('grades math500 by the field "answer"', async () => {
  const row = { problem: 'p', solution: 's', answer: '\\frac{14}{3}' };

  expect(await math500Rows.grade('So $\\boxed{\\dfrac{14}{3}}$.', row)).toMatchObject({ value: 1 });
  expect(await math500Rows.grade('So $\\boxed{\\dfrac{13}{3}}$.', row)).toMatchObject({ value: 0 });
  expect(await math500Rows.grade('', row)).toMatchObject({ value: 0, answer: null });
});

test('grades against the target of an example', async () => {
  expect(await math500.grade('\\boxed{4}', { ...example, target: '4' })).toMatchObject({
    value: 1,
    answer: '4',
  });
  expect(() => math500.grade('\\boxed{4}', { ...example, target: null })).toThrow(/no target/);
});

test.each([
  ['\\boxed{073}', 1],
  ['$m+n = \\boxed{73}$', 1],
  ['the answer is $x = 73$', 1],
  ['\\boxed{m+n=73}', 1],
  ['\\boxed{100p + 10q + r = 73}', 1],
  ['\\boxed{70+3}', 1],
  ['\\boxed{７３}', 1],
  ['\\boxed{2x=73}', 0],
  ['\\boxed{x+1=73}', 0],
  ['\\boxed{m+n=70=73}', 0],
  ['\\boxed{m+n=70+3=73}', 1],
  ['Answer: m+n = 70+3 = 73', 1],
  ['Answer: m+n = 73+3 = 76', 0],
  ['\\boxed{m+n=70+4=73}', 0],
  ['\\boxed{x=70=73}', 0],
  ['\\boxed{73\\%}', 0],
  ['\\boxed{73, 73}', 0],
  ['\\boxed{70+4}', 0],
  ['\\boxed{73} or \\boxed{74}', 0],
  ['\\boxed{74} or perhaps \\boxed{73}', 0],
  ['\\boxed{73.5}', 0],
  ['\\boxed{1073}', 0],
  ['\\boxed{-73}', 0],
  ['', 0],
])('reads an integer from %s', async (completion, value) => {
  expect(await aime.grade(completion, { ...example, target: '73' })).toMatchObject({ value });
});

test('refuses a row of AIME whose answer is no integer up to 999', () => {
  expect(() => aimeRows.grade('\\boxed{1}', { answer: '1/2' })).toThrow(/no integer/);
});

test('takes lists of answers in any order', async () => {
  const row = { answer: '$1, \\frac{1}{2}$' };

  expect(await hmmtRows.grade('\\boxed{\\frac12, 1}', row)).toMatchObject({ value: 1 });
  expect(await hmmtRows.grade('\\boxed{1}', row)).toMatchObject({ value: 0 });
});

test('reads lines of "given" and "expected"', async () => {
  const lines = [
    { given: 'The answer is $0.5$.', expected: '\\boxed{\\frac{1}{2}}' },
    { given: '', expected: '1' },
    { example: { expected: '2' }, response: '2' },
  ];
  const chunks = (async function* () {
    yield Promise.resolve(Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n')));
  })();
  const graded = [];

  for await (const each of gradeResponses({ grader: findRowGrader('math-equivalence'), name: 'in', chunks }))
    graded.push(each);

  expect(graded.map(({ score, answer }) => [score, answer])).toEqual([
    [1, '0.5'],
    [0, null],
    [1, '2'],
  ]);
});

test('says what a malformed line lacks', async () => {
  const chunks = (async function* () {
    yield Promise.resolve(Buffer.from('{"given":"1","expected":"1"}\n{"expected":"1"}\n'));
  })();
  const grading = gradeResponses({ grader: findRowGrader('math_equivalence'), name: 'in', chunks });
  await grading.next();

  await expect(grading.next()).rejects.toThrow(/line 2 .*"given"/);
});
