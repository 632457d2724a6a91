import type { Score } from '../../grader';
import type { RowGrader } from '../../row-grader';
import { gradeWithTests } from '../grade-with-tests';
import { testCasesOf } from './test-cases';

/**
 * LiveCodeBench: the last code block passes all public and private tests, as a program on standard input or as a function. Outputs are
 * compared line by line without blanks at their ends, else as decimal numbers; six seconds of processor time a test.
 */
export const livecodebench: RowGrader = {
  name: 'livecodebench',
  version: 'livecodebench@4',
  description:
    'public_test_cases, private_test_cases, metadata.func_name (or input_output); the last code block is run against the tests in a sandbox',
  boundsItself: true,
  async grade(completion, row): Promise<Score> {
    const tests = testCasesOf(row);
    const code = lastFencedCode(completion);
    if (code.trim() === '') return { value: 0, answer: null, explanation: 'no code block' };
    return gradeWithTests({ code, tests, stopsAtFirst: true });
  },
};

/** What stands between the last two lines with a fence, as officially; nothing where there is no pair. */
export function lastFencedCode(completion: string): string {
  const lines = completion.split('\n');
  const fences = lines.flatMap((line, index) => (line.includes('```') ? [index] : []));
  const [start, end] = fences.slice(-2);
  return start === undefined || end === undefined ? '' : lines.slice(start + 1, end).join('\n');
}
