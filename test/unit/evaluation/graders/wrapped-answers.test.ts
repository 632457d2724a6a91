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
    ],
    withdrawals: [
      THOUGHT,
      (other, given) => `\\boxed{${other}}, or rather \\boxed{${given}}`,
      (other) => `\\boxed{${other}}, no: \\boxed{1`,
    ],
  },
  ...['gpqa', 'ceval', 'mmlu_redux'].map((grader) => ({
    grader,
    row: (answer: string) => ({ answer }),
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
