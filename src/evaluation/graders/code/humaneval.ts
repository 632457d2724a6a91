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
  version: 'humaneval@5',
  description: 'prompt, entry_point, test; the function is run against the tests in a sandbox',
  boundsItself: true,
  grade(completion, row) {
    const entryPoint = textField(row, ['entry_point']);
    const prompt = textField(row, ['prompt']);
    const solution = humanevalProgram(completion, { entryPoint, prompt });
    return pythonVerdict({ ...solution, tests: humanevalTests(row), given: prompt, names: [entryPoint] });
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

export interface HumanevalTask {
  readonly entryPoint: string;
  /** Code that ends in the head of the function. */
  readonly prompt: string;
}

/** The function of a reply, with what the prompt gives. */
export function humanevalProgram(
  completion: string,
  { entryPoint, prompt }: HumanevalTask,
): HumanevalProgram {
  const block = findCodeBlock(completion, [entryPoint]);
  const code = block ?? completion;
  if (definesAtTop(code, entryPoint))
    return { answer: code, program: withFutureFirst(`${preambleOf(prompt, entryPoint)}\n${code}`) };
  if (block === null) {
    const answer = asBody(completion.replace(AFTER_CONTINUATION, '\n'));
    return { answer, program: prompt + answer };
  }
  return { answer: block, program: `${prompt}${asBody(block)}` };
}

/** Imports and functions that the prompt gives before the one that is asked for. */
function preambleOf(prompt: string, entryPoint: string): string {
  const start = prompt.search(definitionOf(entryPoint));
  return start < 0 ? prompt : prompt.slice(0, start);
}

/** A body without indentation gets the one it needs; of its first line alone where only that lost it, as behind a thought. */
function asBody(code: string): string {
  const [first, second] = code.split('\n').filter((line) => line.trim() !== '');
  if (first === undefined || /^\s/.test(first)) return code;
  const next = second?.search(/\S/) ?? 0;
  const isOpener = /:\s*(?:#|$)/.test(first);
  if (next > (isOpener ? INDENT.length : 0)) return code.replace(first, () => INDENT + first);
  return code.replaceAll(/^(?=.*\S)/gm, INDENT);
}
