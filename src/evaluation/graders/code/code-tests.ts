import { DomainError } from '../../../core/errors';
import type { Score } from '../grader';
import { firstOf, isGiven, textField } from '../row-fields';
import type { Row, RowGrader } from '../row-grader';
import { calledIn, definesAtTop, extractCode, findCodeBlock } from './extract-code';
import { withFutureFirst } from './future-first';
import type { TestedCode } from './grade-with-tests';
import { gradeWithTests } from './grade-with-tests';
import { humanevalProgram, humanevalTests } from './humaneval';
import { testCasesOf } from './livecodebench/test-cases';
import { codeTexts } from './listed-code';
import { assertionsOf } from './mbpp';
import { requireFewTests } from './most-tests';

const NO_CODE: Score = {
  value: 0,
  answer: null,
  explanation: 'no code block',
  metrics: { tests_passed: 0 },
};
const INPUT_FIELDS = ['public_test_cases', 'private_test_cases', 'input_output'];

/**
 * Code with tests of any of the usual forms, for training: assertions (MBPP), a check of a function (HumanEval), inputs and outputs
 * (LiveCodeBench). Only what stands in a code block counts. Every test is run; `tests_passed` is the share that passes.
 */
export const codeTests: RowGrader = {
  name: 'code_tests',
  version: 'code_tests@7',
  description:
    'test_list, or test and entry_point, or input_output; the code block is run against every test in a sandbox',
  boundsItself: true,
  grade(completion, row) {
    return gradeCode(findCodeBlock(completion, definedFor(row)), completion, row);
  },
};

/** The same where a reply without a code block is code as a whole. */
export const bareCodeTests: RowGrader = {
  ...codeTests,
  name: 'bare_code_tests',
  version: 'bare_code_tests@7',
  grade: (completion, row) => gradeCode(extractCode(completion, definedFor(row)), completion, row),
};

async function gradeCode(found: string | null, completion: string, row: Row): Promise<Score> {
  const answer = found ?? '';
  const all = testedCodes(answer, completion, row);
  const counts = all.map(countOf);
  requireFewTests(counts.reduce((sum, count) => sum + count, 0));
  if (answer.trim() === '') return NO_CODE;
  const scores: Score[] = [];
  for (const tested of all)
    scores.push(await gradeWithTests({ ...tested, answer, stopsAtFirst: false, runsAsProgram: true }));
  return together(scores, counts);
}

/** Of tests of several forms all have to pass; the first that does not is told. */
function together(scores: readonly Score[], counts: readonly number[]): Score {
  const first = scores.find(({ value }) => value !== 1) ?? scores[0] ?? NO_CODE;
  if (scores.length < 2) return first;
  const passed = scores.reduce((sum, { details }) => sum + Number(details?.['passed'] ?? 0), 0);
  const tests = counts.reduce((sum, count) => sum + count, 0);
  return {
    ...first,
    metrics: { tests_passed: passed / tests },
    details: { ...first.details, tests, passed },
  };
}

function countOf({ tests }: Pick<TestedCode, 'tests'>): number {
  return 'assertions' in tests ? tests.assertions.length : tests.inputs.length;
}

/** Names that the tests want to be defined. */
function definedFor(row: Row): readonly string[] {
  return testFormsOf(row).flatMap((form) => {
    if (form === 'function') return [textField(row, ['entry_point'])];
    return form === 'assertions' ? calledIn(assertionsOf(row)) : [];
  });
}

export type TestForm = 'assertions' | 'function' | 'cases';

/** The form that a row's question is asked in. */
export function testFormOf(row: Row): TestForm {
  return testFormsOf(row)[0];
}

/** Which forms a row has, by its fields; an empty one, and a list without an assertion, is none. */
export function testFormsOf(row: Row): readonly [TestForm, ...TestForm[]] {
  const forms: TestForm[] = [];
  if (assertionsOf(row).length > 0) forms.push('assertions');
  if (isGiven(row['entry_point']) && isGiven(row['test'])) forms.push('function');
  if (INPUT_FIELDS.some((name) => isGiven(row[name]))) forms.push('cases');
  const [first, ...others] = forms;
  if (first !== undefined) return [first, ...others];
  throw new DomainError(
    'bad-dataset',
    'A row of code has no tests. Give "test_list" (assertions), "test" and "entry_point", or "input_output".',
  );
}

type WithTests = Pick<TestedCode, 'code' | 'tests'>;

function testedCodes(answer: string, completion: string, row: Row): readonly WithTests[] {
  const how = {
    assertions: () => withAssertions(answer, row),
    function: () => withFunction(completion, row),
    cases: () => ({ code: answer, tests: testCasesOf(row) }),
  };
  return testFormsOf(row).map((form) => how[form]());
}

function withAssertions(answer: string, row: Row): WithTests {
  const imports = codeTexts(row, 'test_imports');
  const code = [...imports, answer, ...codeTexts(row, 'test_setup_code')].join('\n');
  return {
    code: withFutureFirst(`${code}\n`),
    tests: { assertions: assertionsOf(row), given: imports.join('\n') },
  };
}

/** A prompt that is no code is no part of the program. */
function withFunction(completion: string, row: Row): WithTests {
  const entryPoint = textField(row, ['entry_point']);
  const asked = firstOf(row, ['prompt']) === undefined ? '' : textField(row, ['prompt']);
  const prompt = definesAtTop(asked, entryPoint) ? asked : '';
  const { program } = humanevalProgram(completion, { entryPoint, prompt });
  return { code: program, tests: { assertions: [humanevalTests(row)], given: prompt, names: [entryPoint] } };
}
