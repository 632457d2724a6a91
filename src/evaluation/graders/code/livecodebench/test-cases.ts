import { DomainError } from '../../../../core/errors';
import { DEEPEST_JSON, TOO_DEEP } from '../../../../core/json-depth';
import { countJsonParts } from '../../../../core/json-parts';
import { isGiven, isRow, lacking } from '../../row-fields';
import type { Row } from '../../row-grader';
import type { Tests } from '../grade-with-tests';
import { readPickledText } from './pickled-text';

/** What a solution is run on; texts as the publisher has them. */
export type TestCases = Exclude<Tests, { readonly assertions: readonly string[] }>;

/** The public tests and then the private ones of an official row; or those of `input_output`, as other copies have them. */
export function testCasesOf(row: Row): TestCases {
  const whole = readJson(row['input_output']);
  if (isRow(whole)) return fromLists(whole);
  if (isGiven(whole) || isGiven(row['input_output']))
    throw lacking(['input_output'], 'JSON of lists "inputs" and "outputs"');
  const tests = [...testsIn(row['public_test_cases']), ...testsIn(row['private_test_cases'])];
  if (tests.length === 0) throw lacking(['public_test_cases', 'private_test_cases'], 'test');
  return {
    inputs: tests.map(({ input }) => input),
    outputs: tests.map(({ output }) => output),
    functionName: functionNameOf(row),
  };
}

/** What the tests call; null where they run a program. */
export function functionNameOf(row: Row): string | null {
  const whole = readJson(row['input_output']);
  const metadata = readJson(row['metadata']);
  if (isRow(whole)) return nameIn(whole['fn_name']);
  return isRow(metadata) ? nameIn(metadata['func_name']) : null;
}

function nameIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function fromLists(whole: Row): TestCases {
  const { inputs, outputs, fn_name: name } = whole;
  if (!Array.isArray(inputs) || !Array.isArray(outputs))
    throw lacking(['input_output'], 'lists "inputs" and "outputs"');
  if (inputs.length !== outputs.length) throw unequal(inputs.length, outputs.length);
  const functionName = nameIn(name);
  if (functionName !== null && areArguments(inputs)) return { ...fromValues(inputs, outputs), functionName };
  if (!areTexts(inputs) || !areTexts(outputs) || inputs.length === 0)
    throw lacking(
      ['input_output'],
      'lists "inputs" and "outputs" of texts (of arguments and values where there is "fn_name")',
    );
  return { inputs, outputs, functionName };
}

function unequal(inputCount: number, outputCount: number): DomainError {
  return new DomainError(
    'bad-dataset',
    `example: "input_output" has ${inputCount} "inputs" and ${outputCount} "outputs". Give an output for each input.`,
  );
}

function areArguments(inputs: readonly unknown[]): inputs is unknown[][] {
  return inputs.length > 0 && inputs.every((input) => Array.isArray(input));
}

/** The form of APPS: arguments in a list each, and the value, which may stand in a list of one. */
function fromValues(
  inputs: readonly unknown[][],
  outputs: readonly unknown[],
): Pick<TestCases, 'inputs' | 'outputs'> {
  const areListed = outputs.every((output) => Array.isArray(output) && output.length === 1);
  return {
    inputs: inputs.map((input) => input.map((each) => JSON.stringify(each)).join('\n')),
    outputs: outputs.map((output) => JSON.stringify(areListed && Array.isArray(output) ? output[0] : output)),
  };
}

function areTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

interface TestCase {
  readonly input: string;
  readonly output: string;
}

function testsIn(field: unknown): readonly TestCase[] {
  if (field === undefined || field === null || field === '') return [];
  const read = readJson(field) ?? (typeof field === 'string' ? readJson(readPickledText(field)) : null);
  if (Array.isArray(read) && read.every(isTestCase)) return read;
  throw lacking(['public_test_cases', 'private_test_cases'], 'list of {"input", "output"}');
}

function isTestCase(value: unknown): value is TestCase {
  return isRow(value) && typeof value['input'] === 'string' && typeof value['output'] === 'string';
}

/** Lists, objects and keys in the text of tests: a test is an object of three keys, its arguments may be lists of lists. */
const MOST_PARTS = 2_000_000;

/** A value, or the value that a text of JSON says; null where the text is none. */
function readJson(field: unknown): unknown {
  if (typeof field !== 'string') return field;
  requireReadable(field);
  try {
    const value: unknown = JSON.parse(field);
    return value;
  } catch {
    return null;
  }
}

/** Small when packed, a text may become all the memory there is. */
function requireReadable(text: string): void {
  const { parts, keys, depth } = countJsonParts(text);
  if (depth > DEEPEST_JSON) throw new DomainError('bad-dataset', `example: in its tests, ${TOO_DEEP}`);
  if (parts + keys > MOST_PARTS)
    throw new DomainError(
      'bad-dataset',
      `example: its tests hold ${parts} lists and objects with ${keys} keys; ${MOST_PARTS} are the most. Give the row as the publisher has it.`,
    );
}
