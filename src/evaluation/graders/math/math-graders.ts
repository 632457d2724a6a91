import { DomainError } from '../../../core/errors';
import { gradeWithin } from '../grade-row';
import type { Grader, Score } from '../grader';
import { textField } from '../row-fields';
import type { RowGrader } from '../row-grader';
import { cleanLatex } from './clean-latex';
import { readNumber } from './exact-number';
import { findAnswer } from './find-answer';
import type { MathVerdict } from './math-equivalence';
import { MathEquivalence } from './math-equivalence';
import { readShape } from './read-shape';
import { assignmentOf } from './relations';

/** With anything that moves a verdict, the pinned Python packages included. */
const VERSION = 11;

/** With all its markup; what is longer is none. */
const LONGEST_INTEGER = 1000;

/** Shared by all graders of this process: one warm interpreter, started by the first question that needs it. */
const equivalence = new MathEquivalence();

/** Ends the interpreter of this process's mathematics graders; they start another when asked again. */
export function closeMathGraders(): Promise<void> {
  return equivalence.close();
}

type Judge = (completion: string, reference: string) => Score | Promise<Score>;

/** A grader of completions against `Example.target`. */
function mathGrader(name: string, judge: Judge): Grader {
  return {
    name,
    version: `${name}@${VERSION}`,
    grade(completion, { target }) {
      if (target === null)
        throw new DomainError('bad-dataset', `${name}: the example has no target. Give one.`);
      return gradeWithin((text) => judge(text, target), completion);
    },
  };
}

function mathRowGrader(name: string, description: string, judge: Judge): RowGrader {
  return {
    name,
    version: `${name}@${VERSION}`,
    description,
    grade: (completion, row) => judge(completion, textField(row, ['answer', 'target', 'expected'])),
  };
}

/** Mathematical equality; what counts as equal is told in docs/graders.md. */
export const mathEquivalence = mathGrader('math_equivalence', judgeEquivalence);
export const math500 = mathGrader('math500', judgeEquivalence);
/** Lists of answers are allowed, in any order. */
export const hmmt = mathGrader('hmmt', judgeEquivalence);
/** The integer 0 … 999, or what is equal to it. */
export const aime = mathGrader('aime', judgeInteger);

/** Lines are `{"given", "expected"}`: whole texts or bare expressions. */
export const mathEquivalenceRows: RowGrader = {
  ...mathRowGrader(
    'math_equivalence',
    'lines {"given", "expected"}; right when they are mathematically equal',
    judgeEquivalence,
  ),
  lineForm: '{"given": "<text>", "expected": "<text>"}',
  lineFields: ['given', 'expected'],
  readLine: ({ given, expected }) => ({ example: { expected }, response: givenText(given) }),
};
export const math500Rows = mathRowGrader(
  'math500',
  'answer; right when the answer is mathematically equal to it',
  judgeEquivalence,
);
export const hmmtRows = mathRowGrader(
  'hmmt',
  'answer; right when the answer, an expression or a list, is mathematically equal to it',
  judgeEquivalence,
);
export const aimeRows = mathRowGrader('aime', 'answer; right when the answer is this integer', judgeInteger);

function givenText(given: unknown): unknown {
  if (given === null) return '';
  return typeof given === 'number' ? String(given) : given;
}

async function judgeEquivalence(completion: string, reference: string): Promise<Score> {
  return scoreOf(await equivalence.judge(completion, reference));
}

function scoreOf({ isEqual, answer, path, limit }: MathVerdict): Score {
  return { value: Number(isEqual), answer, details: { path, ...(limit ? { limit } : {}) } };
}

function judgeInteger(completion: string, reference: string): Score | Promise<Score> {
  const expected = integerOf(reference);
  if (expected === null) {
    throw new DomainError(
      'bad-dataset',
      `aime: the answer ${JSON.stringify(reference)} is no integer from 0 to 999.`,
    );
  }
  const answer = findAnswer(completion);
  const integer = answer === null ? null : integerOf(answer);
  if (answer === null || integer !== null || answer.length > LONGEST_INTEGER || answer.includes('%'))
    return { value: Number(integer === expected), answer, details: { path: 'fast' } };
  return judgeCalculated(answer, expected);
}

/** "200 + 4", and "m + n = 204" where a sum is asked for. */
async function judgeCalculated(answer: string, expected: number): Promise<Score> {
  const verdict = await equivalence.judge(boxed(withoutSum(answer)), String(expected));
  return scoreOf({ ...verdict, answer });
}

/** A sum of letters, as problems ask for it: "m+n = 204", "100p + 10q + r = 204", "m+n = 200+4 = 204". */
const ASKED_SUM = /^\s*\$?\s*(?:\d{0,4}\s*[a-zA-Z]\s*\+\s*)+\d{0,4}\s*[a-zA-Z]\s*=(?=[^=]+(?:=[^=]+)?$)/;

function withoutSum(answer: string): string {
  return answer.replace(ASKED_SUM, '');
}

/** As one answer, whatever stands in it. */
function boxed(answer: string): string {
  return `\\boxed{${answer}}`;
}

function integerOf(text: string): number | null {
  if (text.length > LONGEST_INTEGER) return null;
  const cleaned = cleanLatex(text);
  const assignment = assignmentOf(readShape(cleaned));
  if (assignment?.claim !== undefined) return null;
  const value = readNumber(assignment?.value ?? cleaned);
  if (value?.denominator !== 1n || value.numerator < 0n || value.numerator > 999n) return null;
  return Number(value.numerator);
}
