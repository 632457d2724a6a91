import { cleanLatex } from '../../../src/evaluation/graders/math/clean-latex';
import { findAnswer } from '../../../src/evaluation/graders/math/find-answer';
import type { MathVerdict } from '../../../src/evaluation/graders/math/math-equivalence';
import { MathEquivalence } from '../../../src/evaluation/graders/math/math-equivalence';
import { readShape } from '../../../src/evaluation/graders/math/read-shape';
import { readVectors } from '../../unit/renderers/vector-files';

const equivalence = new MathEquivalence();

afterAll(() => equivalence.close());

interface Pair {
  readonly given: string;
  readonly expected: string;
}

type Reason = (pair: Pair, verdict: MathVerdict) => boolean;

const kindOf = (text: string): string => readShape(cleanLatex(text)).kind;
const squeezed = (text: string): string => cleanLatex(text).replace(/\s/g, '');
const isEither = ({ given, expected }: Pair, pattern: RegExp): boolean =>
  pattern.test(given) || pattern.test(expected);

/** The reference compares text, and calculates only with at most two letters and no powers. */
const ACCEPTED: Readonly<Record<string, Reason>> = {
  'what is equal when calculated': (_pair, { path }) => path !== 'fast',
  'equal numbers, reduced or not, with a unit or percent sign or without': ({ given, expected }) =>
    kindOf(given) === 'number' && kindOf(expected) === 'number',
  'sets and lists in any order, semicolons as commas': (pair) =>
    isEither(pair, /[,;]/) && !isEither(pair, /[<>]/),
  'a named value or an inequality and its interval': (pair) => isEither(pair, /=|[<>]|\\(?:le|in|ne|cup)\b/),
  'the base that is asked for, not named again': ({ given, expected }) => expected.startsWith(`${given}_`),
  'other spellings of the same': ({ given, expected }) => squeezed(given) === squeezed(expected),
};

const REJECTED: Readonly<Record<string, Reason>> = {
  'a rounded number is another number': ({ given, expected }) => /\.9{5}/.test(given + expected),
  'no answer is not right, whatever is expected': ({ expected }) => expected.trim() === '',
  'units that differ, and percentages below 1 without their sign': (pair) =>
    isEither(pair, /\\text|feet|\\%/),
  'a product of letters without a sign is read as a word': ({ given }) => /^[a-z]{2,}$/.test(given),
  'a value of a product is not the equation': ({ expected }) => /^[a-z]{2}=/.test(expected),
};

function reasonFor(pair: Pair, verdict: MathVerdict): string | null {
  const reasons = Object.entries(verdict.isEqual ? ACCEPTED : REJECTED);
  return reasons.find(([, holds]) => holds(pair, verdict))?.[0] ?? null;
}

async function judge({ given, expected }: Pair): Promise<MathVerdict> {
  if (findAnswer(expected) === null) return { isEqual: false, answer: null, path: 'fast' };
  return equivalence.judge(given, expected);
}

async function unexplained(cases: readonly { pair: Pair; expected: boolean }[]): Promise<readonly unknown[]> {
  const without: unknown[] = [];
  for (const { pair, expected } of cases) {
    const verdict = await judge(pair);
    if (verdict.isEqual !== expected && reasonFor(pair, verdict) === null) without.push([pair, verdict]);
  }
  return without;
}

const graded = readVectors<{ given: string | null; expected_answer: string }, boolean>(
  'math_grading.json',
  'tinker_cookbook.recipes.math_rl.math_grading.grade_answer',
);
const hmmt = readVectors<{ extracted: string; expected_answer: string }, boolean>(
  'hmmt_grading.json',
  'eval.benchmarks._hmmt._check_math_equal',
);
const sympy = readVectors<{ a: string; b: string }, boolean>(
  'math_helpers.json',
  'math_grading.are_equal_under_sympy',
);
const boxed = readVectors<string, string | object>(
  'extract_boxed.json',
  'tinker_cookbook.recipes.math_rl.math_grading.extract_boxed',
);

(graded ? test : test.skip)('the same verdicts on answers, but for the reasons listed', async () => {
  const cases = (graded ?? []).flatMap(
    ({ input: { given, expected_answer: expected }, expected: isEqual }) =>
      given === null || typeof isEqual !== 'boolean'
        ? []
        : [{ pair: { given, expected }, expected: isEqual }],
  );

  expect(await unexplained(cases)).toEqual([]);
});

(hmmt ? test : test.skip)(
  'the same verdicts on HMMT, but for the reasons listed: there every exception is false',
  async () => {
    const cases = (hmmt ?? []).map(({ input, expected }) => ({
      pair: { given: input.extracted, expected: input.expected_answer },
      expected,
    }));

    expect(await unexplained(cases)).toEqual([]);
  },
);

(sympy ? test : test.skip)(
  'accepts what the reference accepts by algebra; letters without a sign between them are a word',
  async () => {
    const rejected: unknown[] = [];
    for (const { input, expected } of sympy ?? []) {
      const verdict = await judge({ given: input.b, expected: input.a });
      if (expected && !verdict.isEqual) rejected.push(input);
    }

    expect(rejected).toEqual([{ a: 'xy', b: 'x*y' }]);
  },
);

(boxed ? test : test.skip)(
  'the last box, but neighbours joined by "and" are one answer and braces elsewhere do not matter',
  () => {
    const different = (boxed ?? []).filter(
      ({ input, expected }) => typeof expected === 'string' && (findAnswer(input) ?? '') !== expected,
    );

    expect(different.map(({ input }) => input)).toEqual(['$\\boxed{12}$ and $\\boxed{\\frac{3}{4}}$']);
  },
);
