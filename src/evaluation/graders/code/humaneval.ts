import { textField } from '../row-fields';
import type { Row, RowGrader } from '../row-grader';
import { definesAtTop, definitionOf, findCodeBlock } from './extract-code';
import { withFutureFirst } from './future-first';
import { pythonVerdict } from './python-verdict';

/** A line in the first column that can only be prose or a mark after a raw continuation. */
const AFTER_CONTINUATION = /\n(?:```|<\|)[^]*$/;
const INDENT = '    ';

/**
 * HumanEval: the function passes the task's own tests. A reply is a whole function or the continuation of the prompt, in a code block or
 * as it is.
 */
export const humaneval: RowGrader = {
  name: 'humaneval',
  version: 'humaneval@2',
  description: 'prompt, entry_point, test; the function is run against the tests in a sandbox',
  boundsItself: true,
  grade(completion, row) {
    const solution = humanevalProgram(completion, row);
    return pythonVerdict({ ...solution, tests: humanevalTests(row) });
  },
};

export interface HumanevalProgram {
  readonly answer: string;
  readonly program: string;
}

/** The task's check of the function. */
export function humanevalTests(row: Row): string {
  return `${textField(row, ['test'])}\n\ncheck(${textField(row, ['entry_point'])})\n`;
}

/** The function of a reply, with what the prompt gives. */
export function humanevalProgram(completion: string, row: Row): HumanevalProgram {
  const prompt = textField(row, ['prompt']);
  const entryPoint = textField(row, ['entry_point']);
  const block = findCodeBlock(completion, [entryPoint]);
  const code = block ?? completion;
  if (definesAtTop(code, entryPoint))
    return { answer: code, program: withFutureFirst(`${preambleOf(prompt, entryPoint)}\n${code}`) };
  if (block === null) {
    const answer = completion.replace(AFTER_CONTINUATION, '\n');
    return { answer, program: prompt + answer };
  }
  return { answer: block, program: `${prompt}${indented(block)}` };
}

/** Imports and functions that the prompt gives before the one that is asked for. */
function preambleOf(prompt: string, entryPoint: string): string {
  const start = prompt.search(definitionOf(entryPoint));
  return start < 0 ? prompt : prompt.slice(0, start);
}

/** A body without indentation gets the one it needs. */
function indented(block: string): string {
  const firstLine = block.split('\n').find((line) => line.trim() !== '') ?? '';
  if (/^\s/.test(firstLine)) return block;
  return block
    .split('\n')
    .map((line) => (line.trim() === '' ? line : INDENT + line))
    .join('\n');
}
