import { livecodebench as livecodebenchRows } from '../../graders/code/livecodebench/livecodebench';
import { firstOf, textField } from '../../graders/row-fields';
import type { Row } from '../../graders/row-grader';
import type { Benchmark } from '../benchmark';
import { GENERATION } from '../benchmark';
import { fieldsOf, groupField } from './row-parts';
import { rowsByGroup } from './scored-by-group';

/** The official prompt of models without one of their own. */
const SYSTEM_PROMPT =
  'You are an expert Python programmer. You will be given a question (problem specification) and will generate a correct Python program that matches the specification and passes all tests.';
const WITH_STARTER =
  'You will use the following starter code to write the solution to the problem and enclose your code within delimiters.';
const WITHOUT_STARTER =
  'Read the inputs from stdin solve the problem and write the answer to stdout (do not directly test on the sample inputs). Enclose your code within delimiters as follows. Ensure that when the python program runs, it reads the inputs, runs the algorithm and writes output to STDOUT.';

const TESTS = ['public_test_cases', 'private_test_cases', 'input_output', 'metadata'];

/** Problems of programming contests with the day of the contest (Jain et al., 2024). */
export function livecodebenchTasks(parts: {
  readonly name: string;
  readonly files: readonly string[];
  readonly what: string;
}): Benchmark {
  return {
    name: parts.name,
    version: 1,
    description: `Problems of programming contests, Python, no shots, right when public and private tests pass in a sandbox: ${parts.what}`,
    comparableWith:
      'Official pass@1 of code generation on the same release and the same dates (startDate, endDate). The official sampling is temperature 0.2, top-p 0.95; solutions have the standard library alone, without NumPy.',
    data: {
      hub: 'livecodebench/code_generation_lite',
      revision: null,
      split: 'test',
      files: parts.files,
    },
    orderSeed: 42,
    toExample(row) {
      return {
        id: `livecodebench/${textField(row, ['question_id', 'question_title', 'id'])}`,
        messages: [
          { role: 'user', content: livecodebenchQuestion(textField(row, ['question_content']), row) },
        ],
        target: null,
        row: fieldsOf(row, [...TESTS, 'difficulty', 'contest_date']),
      };
    },
    systemPrompt: SYSTEM_PROMPT,
    generation: GENERATION,
    needsSandbox: true,
    dateOf: ({ row = {} }) => textField(row, ['contest_date']),
    grader: rowsByGroup('livecodebench', livecodebenchRows, (row) => [groupField(row, ['difficulty'])]),
  };
}

/** The official format of the question and of the answer. */
export function livecodebenchQuestion(question: string, row: Row): string {
  const starter = firstOf(row, ['starter_code']);
  const hasStarter = typeof starter === 'string' && starter !== '';
  const format = hasStarter ? WITH_STARTER : WITHOUT_STARTER;
  const code = hasStarter ? starter : '# YOUR CODE HERE';
  return `### Question:\n${question}\n\n### Format: ${format}\n\`\`\`python\n${code}\n\`\`\`\n\n### Answer: (use the provided format with backticks)\n\n`;
}
