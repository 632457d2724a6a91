import { choiceLetter, loneLetter } from '../../../../src/evaluation/graders/choices/choice-letter';
import { mmluProLetter } from '../../../../src/evaluation/graders/choices/mmlu-pro-letter';
import { findRowGrader } from '../../../../src/evaluation/graders/find-row-grader';

describe('the letter of MMLU-Pro', () => {
  test.each([
    ['The answer is (C). Option (D) is wrong.', 'C'],
    ['the answer is C', 'C'],
    ['The answer is clearly B', 'B'],
    ['Answer: B or so', 'B'],
    ['first answer: A, final Answer: D\nanswer: F', 'D'],
    ['answer:\n\nE', 'E'],
    ['It could be B, or perhaps J.', 'J'],
    ['I think so', 'I'],
  ])('%j is %s', (completion, letter) => {
    expect(mmluProLetter(completion)).toBe(letter);
  });

  test.each(['', 'No idea', 'the answer is b', 'CALM'])('%j has none and is wrong', (completion) => {
    expect(mmluProLetter(completion)).toBeNull();
    expect(findRowGrader('mmlu-pro').grade(completion, { answer: 'A' })).toMatchObject({
      value: 0,
      answer: null,
    });
  });
});

test.each(['Answer:\nA\nB\nC\nD', 'The answer is anything but B.', 'All except B', 'a\nb'])(
  '%j chooses none',
  (completion) => {
    expect(loneLetter(completion, 4)).toBeNull();
    expect(choiceLetter(completion, 4)).toBeNull();
  },
);

test.each(['A B C D', '**B** **C**', 'B\nA\nC', 'Answer: A B'])(
  '%j chooses none where the letter alone is asked for',
  (completion) => {
    expect(loneLetter(completion, 4)).toBeNull();
  },
);

test.each([
  ['B B', 'B'],
  ['Answer:\nB\n\nB', 'B'],
  ['A or B?\n\nB', 'B'],
  ['The answer is nothing but B.', 'B'],
])('%j chooses %s', (completion, letter) => {
  expect(loneLetter(completion, 4)).toBe(letter);
});

describe('the letter of other multiple choice', () => {
  test.each([
    ['\\boxed{(B)}', 'B'],
    ['\\boxed{\\text{c}}', 'C'],
    ['The answer is clearly B', 'B'],
    ['The answer is definitely B, not C.', 'B'],
    ['the answer is not A but B', 'B'],
    ['The answer isB', 'B'],
    ['Final answer: **C**', 'C'],
    ['The answer is A\nNo, the answer is B', 'A'],
    ['answer is (b)', 'B'],
    ['答案是B', 'B'],
    ['答案：C', 'C'],
    ['A', 'A'],
    ['I think A.', 'A'],
    ['It is A because the rest is wrong', 'A'],
    ['(D)', 'D'],
    ['_D_', 'D'],
    ['A/B', 'B'],
    ['A: wrong. B: right, since 2 + 2 = 4. C: wrong. So B.', 'B'],
    ['The answer is (b) 42 J', 'B'],
    ['\\boxed{42}, so the answer is B', 'B'],
    ['I ruled out A, C and D. B remains.', 'B'],
    ['A can be eliminated, and C does not hold: B', 'B'],
    ['\\boxed{\\text{Option B}}', 'B'],
    ['Comparing A and B: B', 'B'],
    ['选项A不符合题意，选项B也不符合，所以答案是C。', 'C'],
    ['我们不选A，因为质量守恒。故选：B', 'B'],
    ['若选A则矛盾，所以应选择B。', 'B'],
    ['选A不对，应选D', 'D'],
    ['综上，选C', 'C'],
    ['One choice is to use A = pi r^2. The answer is B.', 'B'],
    ['A first option is to assume that C holds. Final answer: D', 'D'],
    ['A possible answer is A, but that fails. The answer is C.', 'C'],
    ['The correct option is B, not C', 'B'],
    ["I don't think the answer is A. The answer is B.", 'B'],
    ['I do not believe that the correct answer is A: the answer is D.', 'D'],
    ['If the answer is A, then x = 2, which fails. The answer is C.', 'C'],
    ['The answer is A or B. On second thought, the answer is B.', 'B'],
    ['The answer is B and C is wrong.', 'B'],
    ['The answer is B, or 12 metres.', 'B'],
    ['The answer is not A or B but C', 'C'],
    ["The answer isn't A or B but C", 'C'],
    ['The answer is neither A nor B; it is D', 'D'],
    ['【答案】B【解析】A、C错误', 'B'],
    ['【答案】B\n【解析】选项A、C、D均错误', 'B'],
    ['B选项正确，C选项错误', 'B'],
    ['B是正确答案，C不是', 'B'],
    ['答案B。C不对', 'B'],
    ['A正确，B错误。', 'A'],
    ['选项B', 'B'],
    ['A错误，B不仅正确而且完整', 'B'],
    ['答案是Ｂ', 'B'],
    ['B. A is wrong because of C', 'B'],
    ['B) because A is wrong', 'B'],
    ['A. one\nB. two\nC. three\nSo it must be C', 'C'],
    ['Hence, (B) is correct; (A) is not.', 'B'],
    ["It must be D, as C isn't possible", 'D'],
    ['难道选B？答案是C', 'C'],
    ['精选B级。答案：C', 'C'],
    ['自选B。答案：C', 'C'],
    ['选B细胞。答案是C', 'C'],
    ['有人选B，但应选C', 'C'],
    ['选A还是选B？选B。', 'B'],
    ['The answer is B, A being wrong', 'B'],
  ])('%j is %s', (completion, letter) => {
    expect(choiceLetter(completion, 4)).toBe(letter);
  });

  test.each([
    '',
    'The answer is a bit unclear',
    'definitely',
    'A cat sat on the mat',
    'I am not sure',
    '\\boxed{AB}',
    'ABCD',
    'The answer is E',
    'b',
    '不选B',
    '若选B则错',
    '不应选B',
    '答案不是B',
    '答案不可能是B',
    '选B是错误的',
    '错误答案是B',
    '并非选B',
    'The answer is not B.',
    'not B',
    'C is wrong',
  ])('%j has none', (completion) => {
    expect(choiceLetter(completion, 4)).toBeNull();
  });

  test('as many letters count as there are options', () => {
    expect(choiceLetter('The answer is E', 5)).toBe('E');
    expect(choiceLetter("I'm sure it is I", 9)).toBe('I');
  });

  test('a letter long before the end is not looked for', () => {
    expect(choiceLetter(`C ${'x'.repeat(400)}`, 4)).toBeNull();
  });
});

describe('several letters on equal terms', () => {
  test.each([
    'The answer is either A or B',
    'The answer is A or B or C or D.',
    'Answer: A/B',
    'The answer is (A) and (C).',
    'The final answer is **A** or **B**, depending on the sign.',
    '答案是A或B',
    '选B、C',
    '选B和C',
    '选B或者C',
    '答案是B还是C？',
    'Answer: B, C',
    'The answer is (B) (C) (D)',
    'The answer is A, B, C, or D.',
    '\\boxed{B, C}',
    '\\boxed{A \\text{ or } B}',
    'A, B',
    'Both A and B',
    'A和B都正确',
    '<answer>A, B</answer>',
    '{"answer": ["A", "B"]}',
    '\\boxed{\\{A,B\\}}',
    '\\boxed{A|B}',
    '\\boxed{A B}',
    '\\boxed{A+B}',
    'Answer: B, or C',
    'Answer: B or maybe D',
  ])('%j chooses none', (completion) => {
    expect(choiceLetter(completion, 4)).toBeNull();
  });
});

describe('a letter that is taken back or ruled out', () => {
  test.each([
    'B?',
    '答案是B吗？',
    'I would rule out B',
    'I exclude B',
    'Eliminate A, B and C.',
    'B can be eliminated.',
    'B does not hold.',
    'The wrong answer is B',
    'The incorrect option is B',
    'Least likely: B',
    'B fails',
    '\\boxed{\\text{not }B}',
    '\\boxed{B\\text{ is wrong}}',
    '\\boxed{\\neg B}',
  ])('%j chooses none', (completion) => {
    expect(choiceLetter(completion, 4)).toBeNull();
  });
});

test.each([
  ['B is correct. C would need more energy.', 'B'],
  ['(B) is the right one, and (C) is close.', 'B'],
  ['A is correct. B is correct. C remains.', 'C'],
  ['B项正确，A、C、D错误。', 'B'],
  ['Thus (B) follows, whereas (C) fails.', 'B'],
  ['I choose B over C.', 'B'],
  ['I would go with B rather than **D**.', 'B'],
  ['B is correct if the mass is constant, so D', 'D'],
])('of %j, which announces nothing, the letter is %s', (completion, letter) => {
  expect(choiceLetter(completion, 4)).toBe(letter);
});

test.each([
  ['Answer: rules out C, leaving D', 'D'],
  ['The answer is clear: C is wrong, so D.', 'D'],
  ['The answer is found by eliminating A, B and C, which leaves D.', 'D'],
  ['Answer: B can be excluded; C', 'C'],
  ['答案：不选A，而选B', 'B'],
  ['The answer is B, because A is wrong.', 'B'],
  ['The answer is B, not A', 'B'],
])('of %j what is announced is %s', (completion, letter) => {
  expect(choiceLetter(completion, 4)).toBe(letter);
});

describe('an announcement that is framed, or set aside behind', () => {
  test.each([
    ['One might think that the answer is C, but it is actually D.', 'D'],
    ['If you thought the answer is C, you would be wrong. The answer is D.', 'D'],
    ['Some say the answer is C. It is D.', 'D'],
    ['The least likely answer is C; the answer is D.', 'D'],
    ["The student's answer is C, which is wrong; correct answer: D.", 'D'],
    ['A common misconception is that the answer is C, but the answer is D.', 'D'],
    ['At first glance the answer is C. However, the correct answer is D.', 'D'],
    ['It may seem that the answer is C, but in fact D is correct.', 'D'],
    ['D is better than C.', 'D'],
    ['The answer is C, not D', 'C'],
    ['Some say D but the answer is C', 'C'],
    ['I would say that the answer is C.', 'C'],
    ['I think the answer is C.', 'C'],
    ['We can say the answer is C.', 'C'],
    ['I thought the answer is C. I still do.', 'C'],
    ['I initially thought the answer is C, but D fits.', 'D'],
    ['It is tempting to say the answer is C. D it is.', 'D'],
    ['Many people think the correct answer is C, but D is right.', 'D'],
    ["Maria's answer is C. The answer is D.", 'D'],
    ["Let's answer: C", 'C'],
    ["Let's see: the question's answer is C", 'C'],
    ['Her answer is C, mine is D', 'D'],
    ['The answer is C. That is incorrect. The answer is D.', 'D'],
    ['The answer is C. It is wrong to think otherwise.', 'C'],
    ['The answer is C, but it is actually D.', 'D'],
    ["The answer is C. Actually, it's D.", 'D'],
    ['The answer is C. However, the correct answer is D.', 'D'],
    ['The answer is C, but the actual answer is D', 'D'],
    ['The answer is C\nNo, the answer is D', 'C'],
    ['The answer is C. Next question. The answer is D.', 'C'],
    ['The answer is C, but not D', 'C'],
    ['The answer is C. However, D is close.', 'C'],
    ['If the answer is A, then x = 2, which holds, so A.', 'A'],
    ['It might appear that the answer is (c). In fact it is (D).', 'D'],
    ['有人认为答案是C，其实是D', 'D'],
    ['我认为答案是C', 'C'],
    ['你可能会觉得答案是C，但答案是D', 'D'],
    ['The answer is C because at first glance it is hot.', 'C'],
    ['A common mistake is to think that the answer is C, so D.', 'D'],
    ['The correct answer is C. This is not true of D.', 'C'],
    ['The answer is B (25 °C).', 'B'],
  ])('of %j the letter is %s', (completion, letter) => {
    expect(choiceLetter(completion, 4)).toBe(letter);
  });

  test.each([
    'The structure is 3-D.',
    'Temperature is 25 °C.',
    'One might think that the answer is C.',
    'One could argue the answer is C because C is big.',
    'The answer is C, which is wrong.',
    'The answer is vitamin D',
    "I don't think the answer is A.",
    'Students often say the answer is C',
  ])('%j chooses none', (completion) => {
    expect(choiceLetter(completion, 4)).toBeNull();
  });
});

describe('the letter where it alone was asked for', () => {
  test.each([
    ['d', 'D'],
    ['c)', 'C'],
    ['c.', 'C'],
    ['**b**', 'B'],
    ['(a)', 'A'],
    ['Energy is kept, so\n\nb)', 'B'],
    ['The answer is C.', 'C'],
    ['e', null],
    ['a cat', null],
    ['b. 4', 'B'],
    ['(b) the second one', 'B'],
    ['d: all of them', 'D'],
    ['a. is wrong, b. is right', null],
    ['a) one\nb) two', null],
    ['a.m. or p.m.', null],
  ])('of %j is %j', (completion, letter) => {
    expect(loneLetter(completion, 4)).toBe(letter);
  });
});

describe('multiple choice rows', () => {
  test.each([
    ['mmlu_redux', { answer: 1, choices: ['a', 'b', 'c', 'd'] }],
    ['mmlu_redux', { answer: 'B' }],
    ['mmlu_pro', { answer_index: 1 }],
    ['supergpqa', { answer_letter: 'B', options: ['a', 'b', 'c'] }],
    ['ceval', { answer: 'B' }],
    ['gpqa', { answer: 'B' }],
    ['gpqa', { 'Correct Answer': 'x', options: ['y', ' x', 'z', 'w'] }],
  ])('%s accepts the letter of its official fields', (name, row) => {
    expect(findRowGrader(name).grade('The answer is B', row)).toMatchObject({ value: 1, answer: 'B' });
    expect(findRowGrader(name).grade('The answer is C', row)).toMatchObject({ value: 0, answer: 'C' });
    expect(findRowGrader(name).grade('', row)).toMatchObject({ value: 0, answer: null });
  });

  test.each([
    ['gpqa', { 'Correct Answer': 'x', 'Incorrect Answer 1': 'y' }, /in which order/],
    ['gpqa', { 'Correct Answer': 'x', options: ['y'] }, /none of the "options"/],
    ['mmlu_pro', {}, /"answer" or "answer_index"/],
    ['ceval', { answer: 'the second' }, /not a letter/],
  ])('%s refuses a row without a right letter', (name, row, message) => {
    expect(() => findRowGrader(name).grade('B', row)).toThrow(message);
  });
});
