import { lacking } from '../row-fields';
import type { Row, RowGrader } from '../row-grader';
import { calledIn, extractCode, withoutIndentation } from './extract-code';
import { withFutureFirst } from './future-first';
import { assertionsIn, codeTexts } from './listed-code';
import { pythonVerdict } from './python-verdict';

/** MBPP, sanitized and full: the code passes all of the task's assertions. */
export const mbpp: RowGrader = {
  name: 'mbpp',
  version: 'mbpp@6',
  description: 'test_list, test_imports or test_setup_code; the code is run with the assertions in a sandbox',
  boundsItself: true,
  grade(completion, row) {
    const tests = assertionsOf(row);
    if (tests.length === 0) throw lacking(['test_list'], 'assertion');
    const answer = withoutIndentation(extractCode(completion, calledIn(tests)));
    return pythonVerdict({
      answer,
      program: mbppProgram(answer, row),
      tests: joined(tests),
      given: joined(codeTexts(row, 'test_imports')),
      names: null,
    });
  },
};

/** The assertions of a row that test something; none where it has none. */
export function assertionsOf(row: Row): readonly string[] {
  return assertionsIn(row, 'test_list').filter((test) => test.trim() !== '');
}

/** Imports, which the sanitized rows list, come before the code; setup, which the full ones have, may use what the code defines. */
function mbppProgram(code: string, row: Row): string {
  const parts = [...codeTexts(row, 'test_imports'), code, ...codeTexts(row, 'test_setup_code')];
  return withFutureFirst(joined(parts));
}

function joined(parts: readonly string[]): string {
  return `${parts.map((part) => part.replaceAll('\r\n', '\n')).join('\n')}\n`;
}
