import { DomainError } from '../../../core/errors';
import type { Score } from '../grader';
import { firstOf, textField, textListField } from '../row-fields';
import type { Row, RowGrader } from '../row-grader';
import { calledIn, extractCode, findCodeBlock } from './extract-code';
import { withFutureFirst } from './future-first';
import type { TestedCode } from './grade-with-tests';
import { gradeWithTests } from './grade-with-tests';
import { humanevalProgram, humanevalTests } from './humaneval';
import { testCasesOf } from './livecodebench/test-cases';

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
  version: 'code_tests@3',
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
  version: 'bare_code_tests@3',
  grade: (completion, row) => gradeCode(extractCode(completion, definedFor(row)), completion, row),
};

function gradeCode(found: string | null, completion: string, row: Row): Score | Promise<Score> {
  const answer = found ?? '';
  const { code, tests } = testedCode(answer, completion, row);
  if (answer.trim() === '') return NO_CODE;
  return gradeWithTests({ code, answer, tests, stopsAtFirst: false, runsAsProgram: true });
}

/** Names that the tests want to be defined. */
function definedFor(row: Row): readonly string[] {
  const form = testFormOf(row);
  if (form === 'function') return [textField(row, ['entry_point'])];
  return form === 'assertions' ? calledIn(textListField(row, ['test_list'])) : [];
}

/** Which form a row has, by its fields. */
export function testFormOf(row: Row): 'assertions' | 'function' | 'cases' {
  if (firstOf(row, ['test_list']) !== undefined) return 'assertions';
  if (firstOf(row, ['entry_point']) !== undefined) return 'function';
  if (firstOf(row, INPUT_FIELDS) !== undefined) return 'cases';
  throw new DomainError(
    'bad-dataset',
    'A row of code has no tests. Give "test_list" (assertions), "test" and "entry_point", or "input_output".',
  );
}

function testedCode(answer: string, completion: string, row: Row): Pick<TestedCode, 'code' | 'tests'> {
  const form = testFormOf(row);
  if (form === 'cases') return { code: answer, tests: testCasesOf(row) };
  if (form === 'function') {
    const { program } = humanevalProgram(completion, row);
    return { code: program, tests: { assertions: [humanevalTests(row)] } };
  }
  const code = [...optional(row, 'test_imports'), answer, ...optional(row, 'test_setup_code')].join('\n');
  return { code: withFutureFirst(`${code}\n`), tests: { assertions: textListField(row, ['test_list']) } };
}

function optional(row: Row, field: string): readonly string[] {
  return firstOf(row, [field]) === undefined ? [] : textListField(row, [field]);
}
