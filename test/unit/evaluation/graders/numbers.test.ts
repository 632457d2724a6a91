import { findRowGrader } from '../../../../src/evaluation/graders/find-row-grader';
import { gsm8kAnswer, gsm8kReference } from '../../../../src/evaluation/graders/numbers/gsm8k-answer';
import {
  areEqualNumbers,
  firstNumber,
  lastNumber,
} from '../../../../src/evaluation/graders/numbers/number-text';

describe('a number in text', () => {
  test.each([
    ['18', '18'],
    ['$1,234.50', '1234.5'],
    ['1,00,000 rupees', '100000'],
    ['\\$18', '18'],
    ['-$5', '-5'],
    ['$-5', '-5'],
    ['−7', '-7'],
    ['.5', '0.5'],
    ['007', '7'],
    ['-0', '0'],
    ['18%', '18'],
    ['18km', '18'],
    ['1e3', '1000'],
    ['3/4', '0.75'],
    ['1/3', '1/3'],
    ['\\frac{3}{4}', '0.75'],
    ['-\\dfrac{1}{2}', '-0.5'],
    ['123456789012345678901', '123456789012345678901'],
    ['72.', '72'],
    ['(5)', '5'],
    ['5-3', '5'],
    ['3\\frac{1}{2}', '3.5'],
    ['-3\\frac12', '-3.5'],
    ['3 1/2 cups', '3.5'],
    ['$3\\frac{1}{2}$', '3.5'],
    ['$3 1/2', '3.5'],
    ['3½ cups', '3.5'],
    ['-3 ½', '-3.5'],
    ['½', '0.5'],
    ['⅓', '1/3'],
    ['–4', '-4'],
    ['‐4', '-4'],
    ['－4', '-4'],
    ['70{,}000', '70000'],
    ['1{,}234{,}567.5', '1234567.5'],
    ['$70\\,000$', '70000'],
    ['70\u202f000 dollars', '70000'],
    ['70\u00a0000', '70000'],
    ['7\u00a01000', '7'],
  ])('%s is %s', (text, value) => {
    expect(firstNumber(text)?.value).toBe(value);
  });

  test('a minus between numbers is no sign', () => {
    expect(lastNumber('It takes 3-4 days')?.value).toBe('4');
  });

  test.each(['CO2', 'none', '', '$', '.', '-'])('%p has none', (text) => {
    expect(firstNumber(text)).toBeNull();
  });

  test('numbers are equal within 1e-5, long ones digit by digit', () => {
    expect(areEqualNumbers('0.333333', '1/3')).toBe(true);
    expect(areEqualNumbers('42.00002', '42')).toBe(false);
    expect(areEqualNumbers('12345678901234567', '12345678901234568')).toBe(false);
  });
});

describe('the answer of a gsm8k completion', () => {
  test.each([
    ['Josh made a profit of $70{,}000$.', '70000'],
    ['The answer is $3 \\times 10^3$', null],
    ['It is 2^{10}', null],
    ['So it has $5\\text{ m}^2$', '5'],
    ['It is 2^{10} = 1024', '1024'],
    ['The profit is \\$70{,}000 in all', '70000'],
    ['2 + 2 = 4\n#### 18', '18'],
    ['#### 5\n\nQuestion: next\n#### 6', '5'],
    ['\\boxed{3 dollars} #### 9', '9'],
    ['#### abc, so 7', '7'],
    ['#### $1 000', '1000'],
    ['so $\\boxed{18}$ eggs out of 20', '18'],
    ['\\boxed{\\text{She has } \\frac{1}{2}}', '0.5'],
    ['\\boxed{x = 5}', '5'],
    ['The answer is 18. Out of 20.', '18'],
    ['The answer is **$1,234.**', '1234'],
    ['Answer: -12.0', '-12'],
    ['the answer is 5 + 3 = 8.', '8'],
    ['The answer is 5, since 2 + 3 = 5 and 1 = 1.', '5'],
    ['answer is unknown, maybe 5', '5'],
    ['The answer is \\(42\\)', '42'],
    ['A: 18', '18'],
    ['Q: 4 + 4?\nA: 8 dollars\nthen 9', '8'],
    ['The answer is 3 + 5, so:\nA: 8', '8'],
    ['A: She has 16 - 3 eggs left, 13', '13'],
    ['**Step 1**: 3 and **42** of 50', '42'],
    ['first 3, then 10.', '10'],
    ['It is 60%', '60'],
    ['#### Step 1: count\nThere are 4.\n#### Step 2: 4 * 6 = 24\nThe answer is \\boxed{24}.', '24'],
    ['#### Part 2\nShe keeps 36.\n\nThe final answer is 36.', '36'],
    ['1 + 2\n#### x = 5', '5'],
    ['\\fbox{7} of 9', '7'],
    ['#### 1. Compute\n9*2=18\n#### 2. Answer\n18', '18'],
    ['#### 18. ', '18'],
    ['The answer is $3\\frac{1}{2}$', '3.5'],
    ['\\boxed{9 \\times 2 = 18}', '18'],
    ['\\boxed{18 \\text{ or so}}', '18'],
    ['\\boxed{18\\text{ (and 2 left)}}', '18'],
    ['So the answer is 3 * 6 = 18', '18'],
    ['The answer is 36/2 = 17', '17'],
    ['The answer is <<9*2=18>>18.', '18'],
    ['The answer is not 17. The answer is 18.', '18'],
    ["The answer isn't 17, it's 18.", '18'],
    ['**18**\n#### not 17', '18'],
    ['## Answer\n18 dollars per 2 days', '18'],
    ['The answer is 5 + 3. So 8 in all', '8'],
    ['\\boxed{18} or \\boxed{18.0}', '18'],
    ['\\boxed{18} of 20 or so. Next: \\boxed{19}', '18'],
    ['1. **3 times a week**: he runs 3 sprints\n2. 3*3=9 sprints\n\nSo James runs 540 meters.', '540'],
    ['- **3 times:** he runs\n\nSo 540 meters', '540'],
    ['* **3 sprints** of 60 m\n\nSo 540 meters', '540'],
    ['- **18**\n\nI checked it 2 times', '18'],
    ['**540** meters of 600', '540'],
    ['**5** and **6**', '6'],
    ['**5** and **6** make **11** of 12', '11'],
    ['The answer is １８', '18'],
    ['#### １，２３４．５', '1234.5'],
    ['The answer is 17 or 18. On second thought, the answer is 18 of 20.', '18'],
  ])('%j is %s', (completion, answer) => {
    expect(gsm8kAnswer(completion)).toBe(answer);
  });

  test.each([
    ...['', 'I do not know.', '\\boxed{}', '####'],
    ...[
      '\\boxed{18, 19}',
      '\\boxed{18 \\text{ or } 19}',
      'So \\boxed{9 \\times 2}. Yes, 18',
      '\\boxed{9^2}',
      '\\boxed{\\sqrt{9}}',
    ],
    ...[
      'The answer is 18 or 19',
      'The answer is between 18 and 20',
      'The answer is less than 18',
      'The answer is not 18.',
      '#### not 18',
      '\\boxed{9*2}',
    ],
    ...['\\boxed{18} or \\boxed{19}', '$\\boxed{18}$ or maybe $\\boxed{19}$', '\\boxed{18}, \\boxed{19}'],
    ...['\\boxed{18} and \\boxed{19}', '**18** or **19**'],
    ...['\\boxed{9!}', '\\boxed{\\text{not } 9}', '\\boxed{9 + 9}'],
  ])('%j has none', (completion) => {
    expect(gsm8kAnswer(completion)).toBeNull();
  });

  test('the reference stands behind the last ####', () => {
    expect(gsm8kReference('a <<1+1=2>>2\n#### 1,234')).toBe('1234');
    expect(gsm8kReference('18')).toBe('18');
    expect(gsm8kReference('200 - 174 equals 26.\nA: 26')).toBe('26');
  });

  test('a row without a number is refused, a completion without one scores 0', () => {
    const grader = findRowGrader('gsm8k');

    expect(grader.grade('none', { answer: '#### 18' })).toMatchObject({ value: 0, answer: null });
    expect(grader.grade('It is 18.0', { answer: '#### 18' })).toMatchObject({ value: 1, answer: '18' });
    expect(() => grader.grade('18', { answer: 'unknown' })).toThrow(/no number in "answer"/);
    expect(() => grader.grade('18', {})).toThrow(/"answer" or "target"/);
  });

  test('arithmetic takes the last number', async () => {
    await expect(findRowGrader('arithmetic').grade('37+58=95', { target: '95' })).resolves.toMatchObject({
      value: 1,
    });
    await expect(findRowGrader('arithmetic').grade('It is １８', { target: '18' })).resolves.toMatchObject({
      value: 1,
    });
    await expect(findRowGrader('arithmetic').grade('It is −5', { target: '5' })).resolves.toMatchObject({
      value: 0,
    });
    await expect(findRowGrader('arithmetic').grade('It is −5', { target: '-5' })).resolves.toMatchObject({
      value: 1,
    });
  });
});
