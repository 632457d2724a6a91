import { humaneval as humanevalRows } from '../graders/code/humaneval';
import { fromRows } from '../graders/from-rows';
import { textField } from '../graders/row-fields';
import type { Benchmark } from './benchmark';
import { GENERATION } from './benchmark';
import { fieldsOf } from './questions/row-parts';

/** Python functions from their signature and docstring (Chen et al., 2021), asked of chat models. */
export const humaneval: Benchmark = {
  name: 'humaneval',
  version: 1,
  description:
    'Python functions from signature and docstring; 164 tasks, no shots, right when the task’s tests pass in a sandbox',
  comparableWith:
    'Zero-shot HumanEval pass@1 of chat models. Not continuation scores of base models, nor HumanEval+, which has more tests.',
  data: {
    hub: 'openai/openai_humaneval',
    revision: '7dce6050a7d6d172f3cc5c32aa97f52fa1a2e544',
    split: 'test',
  },
  orderSeed: 42,
  toExample(row) {
    return {
      id: textField(row, ['task_id']),
      messages: [{ role: 'user', content: humanevalQuestion(textField(row, ['prompt'])) }],
      target: null,
      row: fieldsOf(row, ['prompt', 'entry_point', 'test']),
    };
  },
  generation: GENERATION,
  needsSandbox: true,
  grader: fromRows(humanevalRows),
};

/** Asks for the whole function. */
export function humanevalQuestion(prompt: string): string {
  return `Complete the following Python function. Reply with the whole function, its imports included, in one \`\`\`python code block.\n\n\`\`\`python\n${prompt.trimEnd()}\n\`\`\``;
}
