import { DomainError } from '../../../core/errors';
import { parseJson } from '../../../core/whole-floats';
import { isRow, lacking, requireShallow } from '../row-fields';
import type { Row, RowGrader } from '../row-grader';
import type { Fault } from './check-value';
import type { CallLanguage } from './check-value';
import { checkValue, isOmitted } from './check-value';
import type { DeclaredFunction } from './declared-function';
import { readDeclarations } from './declared-function';
import type { FunctionCall, PythonValue } from './python-value';
import { fromJson } from './python-value';
import { readCalls, readForeignCalls } from './read-calls';

const ANSWER_LENGTH = 2000;
const UNSUPPORTED = /multi_turn|web_search|memory/;

/**
 * Function calls as the official AST checker of the Berkeley leaderboard judges them: names, required and optional arguments, types and
 * accepted values; several calls in any order; for irrelevance no call, for relevance any.
 */
export const bfcl: RowGrader = {
  name: 'bfcl',
  version: 'bfcl@2',
  description: 'id, function, ground_truth; the calls are checked by the official AST rules',
  grade(completion, row) {
    const calls = callsIn(completion, row);
    const fault = faultOf(calls, row);
    return {
      value: Number(fault === null),
      answer: calls === null ? null : namesOf(calls).slice(0, ANSWER_LENGTH),
      explanation: fault ?? 'right',
      ...(fault !== null && { details: { error: fault } }),
    };
  },
};

function callsIn(completion: string, row: Row): readonly FunctionCall[] | null {
  const language = languageOf(idOf(row));
  return language === 'python' ? readCalls(completion) : readForeignCalls(completion, language);
}

function idOf(row: Row): string {
  return typeof row['id'] === 'string' ? row['id'] : '';
}

/** In which language a category wants its calls. */
function languageOf(id: string): CallLanguage {
  if (id.includes('javascript')) return 'javascript';
  return id.includes('java') ? 'java' : 'python';
}

function namesOf(calls: readonly FunctionCall[]): string {
  return calls.map(({ name, args }) => `${name}(${[...args.keys()].join(', ')})`).join('; ');
}

function faultOf(calls: readonly FunctionCall[] | null, row: Row): Fault {
  const id = idOf(row);
  if (UNSUPPORTED.test(id))
    throw new DomainError(
      'bad-dataset',
      `example: "${id}" is of a category that is not judged by calls alone.`,
    );
  const isWithoutCall = calls === null || calls.length === 0;
  if (/irrelevance/.test(id)) return isWithoutCall ? null : 'irrelevance_error:decoder_success';
  if (/relevance/.test(id)) return isWithoutCall ? 'relevance_error:decoder_failed' : null;
  if (calls === null) return 'ast_decoder:decoder_failed';
  return checkCalls(calls, row, id);
}

interface CallTask {
  readonly declared: readonly DeclaredFunction[];
  readonly language: CallLanguage;
}

interface ExpectedCall {
  readonly name: string;
  readonly accepted: ReadonlyMap<string, readonly PythonValue[]>;
}

function checkCalls(calls: readonly FunctionCall[], row: Row, id: string): Fault {
  const expected = expectedCalls(row);
  const declared = readDeclarations(row['function']);
  const isParallel = /parallel/.test(id) || expected.length > 1;
  if (calls.length !== expected.length) return `${checkerOf(id, isParallel)}:wrong_count`;
  const [call] = calls;
  const [only] = expected;
  const task = { declared, language: languageOf(id) };
  if (!isParallel && call && only) return checkCall(call, only, task);
  return checkInAnyOrder(calls, expected, task);
}

/** How the official errors call the check of a category. */
function checkerOf(id: string, isParallel: boolean): string {
  if (isParallel) return 'parallel_function_checker_no_order';
  return /multiple/.test(id) ? 'multiple_function_checker' : 'simple_function_checker';
}

/** As the official one: each expected call takes the first that fits and is left. */
function checkInAnyOrder(
  calls: readonly FunctionCall[],
  expected: readonly ExpectedCall[],
  task: CallTask,
): Fault {
  const left = [...calls];
  for (const each of expected) {
    const index = left.findIndex((call) => checkCall(call, each, task) === null);
    if (index < 0) return 'parallel_function_checker_no_order:cannot_find_match';
    left.splice(index, 1);
  }
  return null;
}

function checkCall(call: FunctionCall, expected: ExpectedCall, { declared, language }: CallTask): Fault {
  const declaration = declared.find(({ name }) => name === expected.name) ?? declared[0];
  if (!declaration || call.name !== expected.name) return 'simple_function_checker:wrong_func_name';
  if (declaration.required.some((name) => !call.args.has(name)))
    return 'simple_function_checker:missing_required';
  for (const [name, value] of call.args) {
    const parameter = declaration.parameters.get(name);
    const accepted = expected.accepted.get(name);
    if (!parameter || !accepted) return 'simple_function_checker:unexpected_param';
    const fault = checkValue(value, accepted, { parameter, language });
    if (fault !== null) return fault;
  }
  const missing = [...expected.accepted].find(
    ([name, accepted]) => !call.args.has(name) && !accepted.some(isOmitted),
  );
  return missing === undefined ? null : 'simple_function_checker:missing_optional';
}

function acceptedIn(values: PythonValue): readonly PythonValue[] {
  return values.type === 'list' ? values.items : [values];
}

/** Examples of benchmarks carry them as the text of JSON, which keeps floats apart. */
function expectedCalls(row: Row): readonly ExpectedCall[] {
  const stored = row['ground_truth'];
  const given = typeof stored === 'string' ? parsedOrNull(stored) : stored;
  if (!Array.isArray(given)) throw lacking(['ground_truth'], 'a list of calls');
  requireShallow(given, ['ground_truth']);
  return given.map((each: unknown) => {
    const [entry] = Object.entries(isRow(each) ? each : {});
    if (!entry || !isRow(entry[1]))
      throw lacking(['ground_truth'], 'a list of {function: {argument: values}}');
    const [name, args] = entry;
    const accepted = Object.entries(args).map(
      ([key, values]) => [key, acceptedIn(fromJson(values))] as const,
    );
    return { name, accepted: new Map(accepted) };
  });
}

function parsedOrNull(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}
