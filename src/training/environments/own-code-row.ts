import { DomainError } from '../../core/errors';
import { testFormsOf } from '../../evaluation/graders/code/code-tests';
import type { TestForm } from '../../evaluation/graders/code/code-tests';
import { definesAtTop } from '../../evaluation/graders/code/extract-code';
import { codeTexts } from '../../evaluation/graders/code/listed-code';
import { assertionsOf } from '../../evaluation/graders/code/mbpp';
import { requireFewTests } from '../../evaluation/graders/code/most-tests';
import { functionNameOf, testCasesOf } from '../../evaluation/graders/code/livecodebench/test-cases';
import { isGiven, isRow } from '../../evaluation/graders/row-fields';
import type { Row } from '../../evaluation/graders/row-grader';
import { isSaid, listed, textsIn } from './own-row';

const LISTED_CASES = ['public_test_cases', 'private_test_cases'];
const FIELD_OF: Readonly<Record<TestForm, string>> = {
  assertions: 'test_list',
  function: 'test',
  cases: 'input_output',
};

/** Refuses tests that no program could be run against, or that a question would not ask for, before anything is trained on them. */
export function requireTests(row: Row): void {
  if (isGiven(row['test']) && !isGiven(row['entry_point'])) throw uncalled();
  requireCheck(row);
  requireRun(row);
  const forms = testFormsOf(row);
  requireFailing(row);
  requireFewTests(assertionsOf(row).length);
  const [beside] = forms;
  if (forms.includes('cases') && beside !== 'cases') throw twice(FIELD_OF[beside], casesFieldOf(row));
  for (const field of ['test_imports', 'test_setup_code']) codeTexts(row, field);
  if (beside !== 'cases') return;
  const listed = LISTED_CASES.find((name) => isGiven(row[name]));
  if (listed !== undefined && isGiven(row['input_output'])) throw twice(listed, 'input_output');
  if (!isPacked(row)) requireFewTests(testCasesOf(row).inputs.length);
}

const VERL_TESTS = 'reward_model.ground_truth';
const FIELDS_OF_TESTS = ['test_list', 'test', ...LISTED_CASES, 'input_output'];

/** verl keeps inputs and outputs where other rows have their answer (Eurus-2, SYNTHETIC-1). */
export function withVerlTests(row: Row): Row {
  const model = listed(row['reward_model']);
  const given = isRow(model) ? model['ground_truth'] : undefined;
  const tests = listed(given);
  if (!isRow(tests) || !('inputs' in tests)) return row;
  const beside = FIELDS_OF_TESTS.find((name) => isGiven(row[name]));
  if (beside !== undefined) throw twice(beside, VERL_TESTS);
  return { ...row, input_output: typeof given === 'string' ? given : JSON.stringify(tests) };
}

/** What is called with the function is `check`. */
function requireCheck({ test }: Row): void {
  if (typeof test !== 'string' || !isGiven(test) || definesAtTop(test, 'check')) return;
  throw new DomainError(
    'bad-dataset',
    'field "test": defines no function "check", which is called with the function that "entry_point" names. Write `def check(candidate):` around its assertions, or put them into "test_list".',
  );
}

/** Inputs as EvalPlus has them beside its tests, to be compared with what the solution says. */
const INPUTS_ALONE = ['base_input', 'plus_input'];

function requireRun(row: Row): void {
  const unread = INPUTS_ALONE.find((name) => isGiven(row[name]));
  if (unread === undefined) return;
  throw new DomainError(
    'bad-dataset',
    `field "${unread}": inputs without outputs are not run. Put what they test into "test", or name it in environment.ignoreKeys.`,
  );
}

const PRINT = /^\s*print\s*\(([^]*)\)\s*(?:;\s*)?(?:#.*)?$/;
/** What is longer is looked at by whoever runs it. */
const LONGEST_PRINT = 2000;
const TEXT_OF_PYTHON = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g;

/** What is only printed, no program can get wrong. */
function requireFailing(row: Row): void {
  const printed = assertionsOf(row).find(isPrint);
  if (printed === undefined) return;
  throw new DomainError(
    'bad-dataset',
    `field "test_list": ${JSON.stringify(printed.slice(0, 80))} prints and tests nothing. Write an assertion: assert f(1) == 2.`,
  );
}

/** One call and nothing else: the bracket that it opens is the last to be closed. */
function isPrint(test: string): boolean {
  if (test.length > LONGEST_PRINT) return false;
  const given = PRINT.exec(test)?.[1]?.replaceAll(TEXT_OF_PYTHON, '');
  if (given === undefined) return false;
  let depth = 0;
  for (const [bracket] of given.matchAll(/[()]/g)) {
    depth += bracket === '(' ? 1 : -1;
    if (depth < 0) return false;
  }
  return true;
}

/** Without the name, tests that stand beside assertions would not be run. */
function uncalled(): DomainError {
  return new DomainError(
    'bad-dataset',
    'has "test", which checks the function that "entry_point" names, and no "entry_point". Give it, or remove "test".',
  );
}

function casesFieldOf(row: Row): string {
  return ['input_output', ...LISTED_CASES].find((name) => isGiven(row[name])) ?? 'input_output';
}

function twice(field: string, other: string): DomainError {
  return new DomainError(
    'bad-dataset',
    `has tests under "${field}" and under "${other}", and is asked for those of one alone. Remove one.`,
  );
}

/** Private tests as the publisher packs them take up to a gigabyte each; they are read when they are run. */
function isPacked({ private_test_cases: hidden }: Row): boolean {
  return typeof hidden === 'string' && isGiven(hidden) && !hidden.trimStart().startsWith('[');
}

/** Refuses a question that never names the function which its tests call. */
export function requireNamed(row: Row, asked: unknown): void {
  const words = new Set(textsIn(asked).flatMap((text) => text.split(/[^\p{L}\p{N}_]+/u)));
  const entryPoint = row['entry_point'];
  const called = {
    assertions: null,
    function: typeof entryPoint === 'string' ? entryPoint : null,
    cases: functionNameOf(row),
  };
  const unnamed = testFormsOf(row)
    .map((form) => called[form])
    .find((name) => name !== null && !words.has(name));
  if (!unnamed) return;
  throw new DomainError(
    'bad-dataset',
    `its tests call ${JSON.stringify(unnamed.slice(0, 80))}, which the question does not name. Name the function in the question.`,
  );
}

/** Tests that call a function are asked for with its head where the row has no starter code. */
export function withStarter(row: Row): Row {
  const name = functionNameOf(row);
  if (name === null || isSaid(row['starter_code'])) return row;
  return { ...row, starter_code: `def ${name}(${argumentsOf(row)}):\n    # YOUR CODE HERE` };
}

/** As many as the tests give, all the same number of them; the tests say no names. */
function argumentsOf(row: Row): string {
  const counts = isPacked(row) ? [] : testCasesOf(row).inputs.map((input) => input.trim().split('\n').length);
  const [count] = new Set(counts);
  if (count === undefined || new Set(counts).size > 1) return '*arguments';
  return Array.from({ length: count }, (_, index) => `argument_${index + 1}`).join(', ');
}
