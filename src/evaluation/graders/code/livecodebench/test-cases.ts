import { isRow, lacking } from '../../row-fields';
import type { Row } from '../../row-grader';
import type { Tests } from '../grade-with-tests';
import { readPickledText } from './pickled-text';

/** What a solution is run on; texts as the publisher has them. */
export type TestCases = Exclude<Tests, { readonly assertions: readonly string[] }>;

/** The public tests and then the private ones of an official row; or those of `input_output`, as other copies have them. */
export function testCasesOf(row: Row): TestCases {
  const whole = readJson(row['input_output']);
  if (isRow(whole)) return fromLists(whole);
  const tests = [...testsIn(row['public_test_cases']), ...testsIn(row['private_test_cases'])];
  if (tests.length === 0) throw lacking(['public_test_cases', 'private_test_cases'], 'test');
  const metadata = readJson(row['metadata']);
  const name = isRow(metadata) ? metadata['func_name'] : undefined;
  return {
    inputs: tests.map(({ input }) => input),
    outputs: tests.map(({ output }) => output),
    functionName: typeof name === 'string' ? name : null,
  };
}

function fromLists(whole: Row): TestCases {
  const { inputs, outputs, fn_name: name } = whole;
  if (!areTexts(inputs) || !areTexts(outputs) || inputs.length !== outputs.length || inputs.length === 0)
    throw lacking(['input_output'], 'lists "inputs" and "outputs" of texts');
  return { inputs, outputs, functionName: typeof name === 'string' ? name : null };
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

/** A value, or the value that a text of JSON says; null where the text is none. */
function readJson(field: unknown): unknown {
  if (typeof field !== 'string') return field;
  try {
    const value: unknown = JSON.parse(field);
    return value;
  } catch {
    return null;
  }
}
