import fc from 'fast-check';
import { findRowGrader } from '../../../../src/evaluation/graders/find-row-grader';
import { gradeRow } from '../../../../src/evaluation/graders/grade-row';
import type { Row } from '../../../../src/evaluation/graders/row-grader';

/**
 * Of every reader of answers: in harmless text the answer is found, and a wrong one scores in no wrapping, also where the right one was
 * thought of, withdrawn or only spoken of.
 */
interface Reader {
  readonly grader: string;
  readonly row: (answer: string) => Row;
  /** Two answers that differ. */
  readonly answers: fc.Arbitrary<readonly [string, string]>;
  readonly wrappings: readonly ((answer: string) => string)[];
  /** The first answer is not the one given. */
  readonly withdrawals: readonly ((other: string, given: string) => string)[];
}

const distinct = (one: fc.Arbitrary<string>) => fc.tuple(one, one).filter(([left, right]) => left !== right);
const wholeNumbers = fc.integer({ min: -99_999, max: 99_999 }).map(String);
const letters = fc.constantFrom('A', 'B', 'C', 'D');

const contestAnswers = fc.integer({ min: 0, max: 999 }).map(String);
const words = fc.constantFrom('river', 'candle', 'orbit', 'meadow');

const THOUGHT = (other: string, given: string) =>
  `<think>It is ${other}. The answer is ${other}.</think>\n\nThe answer is ${given}.`;

const READERS: readonly Reader[] = [
  {
    grader: 'gsm8k',
    row: (answer) => ({ answer: `work\n#### ${answer}` }),
    answers: distinct(wholeNumbers),
    wrappings: [
      (answer) => `#### ${answer}`,
      (answer) => `#### Step 1: add\nThe answer is ${answer}.`,
      (answer) => `So \\boxed{${answer}} it is, out of 100000.`,
      (answer) => `Out of 100000, ${answer.replace('-', '−')}`,
      (answer) => `**Step 1** of 2: **${answer}**`,
    ],
    withdrawals: [THOUGHT, (other, given) => `${other} at first.\n#### ${given}`],
  },
  {
    grader: 'arithmetic',
    row: (target) => ({ target }),
    answers: distinct(wholeNumbers),
    wrappings: [
      (answer) => answer,
      (answer) => `The sum is ${answer.replace('-', '–')}.`,
      (answer) => `1 + 1 = ${answer}`,
    ],
    withdrawals: [THOUGHT, (other, given) => `${other}, no, ${given}`],
  },
  {
    grader: 'math500',
    row: (answer) => ({ answer }),
    answers: distinct(wholeNumbers),
    wrappings: [
      (answer) => `\\boxed{${answer}}`,
      (answer) => `It is $\\fbox{${answer}}$, in a \\boxed environment.`,
      (answer) => `\\boxed{\\text{The answer is ${answer}}}`,
      (answer) => `\\boxed{${answer}\\text{ cm}}`,
      (answer) => `The answer is **${answer}**.`,
      (answer) => `Total: ${answer}`,
      (answer) => `\\boxed{100000} is wrong, and \\boxed{${answer}} is right.`,
      (answer) => `It goes in \\boxed{}. The answer is ${answer}.`,
      (answer) => `\\boxed{${answer}}, as in \\boxed{\\text{your answer}}`,
      (answer) => `\\boxed{x = ${answer} = ${answer}}`,
      (answer) => `First \\boxed{100000}. The final answer is $${answer}$. I hope it is correct.`,
    ],
    withdrawals: [
      THOUGHT,
      (other, given) => `\\boxed{${other}}, or rather \\boxed{${given}}`,
      (other, given) => `\\boxed{${other}} is wrong and \\boxed{${given}}`,
      (other, given) => `\\boxed{${other}} apples and \\boxed{${given}} pears`,
      (other, given) => `\\boxed{${other}}. The final answer is $${given}$.`,
      (other) => `\\boxed{${other}}, no: \\boxed{1`,
      (other) => `\\boxed{${other}}, no: we get \\boxed{}`,
      (other, given) => `\\boxed{x = ${given} = ${other}}`,
      ...['Not: ', 'Wrong answer: ', 'Less than: ', 'Square root of: ', 'Twice the answer is '].map(
        (words) => (other: string) => `\\boxed{\\text{${words}}${other}}`,
      ),
      ...['wrong', 'Just kidding', 'tens'].map(
        (words) => (other: string) => `\\boxed{${other}\\text{ ${words}}}`,
      ),
      (other) => `\\boxed{${other}, ${other}}`,
      (other) => `The number that we are looking for is \\boxed{${other}`,
    ],
  },
  ...['aime', 'hmmt'].map((grader) => ({
    grader,
    row: (answer: string) => ({ answer }),
    answers: distinct(contestAnswers),
    wrappings: [
      (answer: string) => `Of 1000 cases $\\boxed{${answer}}$ are left.`,
      (answer: string) => `\\boxed{n = ${answer}}`,
      (answer: string) => `**Final answer:** ${answer}`,
    ],
    withdrawals: [
      THOUGHT,
      (other: string, given: string) => `\\boxed{${other}}, or rather \\boxed{${given}}`,
      (other: string) => `The answer is \\boxed{${other}`,
    ],
  })),
  {
    grader: 'mmlu_pro',
    row: (answer) => ({ answer }),
    answers: distinct(fc.constantFrom(...Array.from('ABCDEFGHIJ'))),
    wrappings: [
      (answer) => `Let us see.\nThe answer is (${answer}).`,
      (answer) => `answer: ${answer}`,
      (answer) => `It must be ${answer}.`,
    ],
    withdrawals: [
      THOUGHT,
      (other, given) => `(${other}) fails. The answer is (${given}).`,
      (other, given) => `Not ${other}, but ${given}`,
    ],
  },
  {
    grader: 'longbench',
    row: (answer) => ({ answer, choice_A: 'one', choice_B: 'two' }),
    answers: distinct(letters),
    wrappings: [
      (answer) => `**The correct answer is (${answer})**`,
      (answer) => `(A) or (B)? The correct answer is ${answer}.`,
    ],
    withdrawals: [
      (other, given) => `<think>The correct answer is (${other})</think>The correct answer is (${given})`,
      (other) => `(${other})`,
    ],
  },
  {
    grader: 'bfcl',
    row: (answer) => ({
      id: 'simple_python_0',
      function: [
        {
          name: 'add',
          parameters: { type: 'dict', properties: { x: { type: 'integer' } }, required: ['x'] },
        },
      ],
      ground_truth: [{ add: { x: [Number(answer)] } }],
    }),
    answers: distinct(wholeNumbers),
    wrappings: [
      (answer) => `[add(x=${answer})]`,
      (answer) => `\`\`\`python\n[add(x=${answer})]\n\`\`\``,
      (answer) => `Calling it:\n\`\`\`json\n[{"name": "add", "arguments": {"x": ${answer}}}]\n\`\`\``,
      (answer) => `<tool_call>{"name": "add", "arguments": {"x": ${answer}}}</tool_call>`,
    ],
    withdrawals: [
      (other, given) => `<think>[add(x=${other})]</think>[add(x=${given})]`,
      (other, given) => `[add(x=${other}), add(x=${given})]`,
      (other, given) => `[add(x=${other})] no, [add(x=${given})]`,
      (other) => `I would call add(x=${other}), but it does not fit.`,
      (other) => `[subtract(x=${other})]`,
    ],
  },
  {
    grader: 'ifeval',
    row: (answer) => ({ instruction_id_list: ['keywords:existence'], kwargs: [{ keywords: [answer] }] }),
    answers: distinct(words),
    wrappings: [(answer) => `There is a ${answer}.`, (answer) => `**${answer.toUpperCase()}**\n\nA text.`],
    withdrawals: [THOUGHT, (other) => `<think>${other}`],
  },
  ...['gpqa', 'ceval', 'mmlu_redux', 'supergpqa'].map((grader) => ({
    grader,
    row: (answer: string) =>
      grader === 'supergpqa'
        ? { answer_letter: answer, options: ['one', 'two', 'three', 'four'] }
        : { answer },
    answers: distinct(letters),
    wrappings: [
      (answer: string) => `The answer is ${answer}.`,
      (answer: string) => `One option is to guess. Final answer: ${answer}`,
      (answer: string) => `各选项都看过，答案是${answer}。`,
      (answer: string) => `因此选${answer}`,
      (answer: string) => `\\boxed{${answer}}`,
    ],
    withdrawals: [
      THOUGHT,
      (other: string, given: string) => `选项${other}不符合，不选${other}，所以答案是${given}。`,
      (other: string, given: string) => `One answer is ${other}, which fails. The answer is ${given}.`,
    ],
  })),
  {
    grader: 'json_match',
    row: (target) => ({ target: { value: target } }),
    answers: distinct(fc.string({ maxLength: 20 })),
    wrappings: [
      (answer) => JSON.stringify({ value: answer }),
      (answer) => `As in [1], it is ${JSON.stringify({ value: answer })}`,
    ],
    withdrawals: [
      (other, given) =>
        `<think>${JSON.stringify({ value: other })}</think>${JSON.stringify({ value: given })}`,
    ],
  },
];

describe.each(READERS)('$grader', ({ grader: name, row, answers, wrappings, withdrawals }) => {
  const grader = findRowGrader(name);

  test('finds the answer in harmless text', async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.constantFrom(...wrappings), async ([answer], wrap) => {
        expect(await gradeRow(grader, wrap(answer), row(answer))).toMatchObject({ value: 1 });
      }),
    );
  });

  const wrong = [...wrappings.map((wrap) => (_: string, given: string) => wrap(given)), ...withdrawals];

  test('gives nothing for a wrong one, however it is wrapped', async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.constantFrom(...wrong), async ([other, given], wrap) => {
        expect(await gradeRow(grader, wrap(other, given), row(other))).toMatchObject({ value: 0 });
      }),
    );
  });
});
