import { firstOf, textListField } from '../row-fields';
import type { Row, RowGrader } from '../row-grader';
import { extractCode } from './extract-code';
import { pythonVerdict } from './python-verdict';

/** MBPP, sanitized and full: the code passes all of the task's assertions. */
export const mbpp: RowGrader = {
  name: 'mbpp',
  version: 'mbpp@1',
  description: 'test_list, test_imports or test_setup_code; the code is run with the assertions in a sandbox',
  boundsItself: true,
  grade(completion, row) {
    const answer = extractCode(completion);
    return pythonVerdict({ answer, program: mbppProgram(answer, row) });
  },
};

/** Imports come before the code; setup may use what the code defines. */
function mbppProgram(code: string, row: Row): string {
  const parts = [
    ...optionalTexts(row, 'test_imports'),
    code,
    ...optionalTexts(row, 'test_setup_code'),
    ...textListField(row, ['test_list']),
  ];
  return `${parts.map((part) => part.replaceAll('\r\n', '\n')).join('\n')}\n`;
}

/** The sanitized rows list imports, the full ones bring setup code. */
function optionalTexts(row: Row, field: string): readonly string[] {
  return firstOf(row, [field]) === undefined ? [] : textListField(row, [field]);
}
