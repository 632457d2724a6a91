import { mbpp as mbppRows } from '../../graders/code/mbpp';
import { fromRows } from '../../graders/from-rows';
import { textField, textListField } from '../../graders/row-fields';
import type { Benchmark } from '../benchmark';
import { GENERATION } from '../benchmark';
import { fieldsOf } from './row-parts';

/** The test split of both releases; the tasks before are for examples in the prompt, those after for training. */
const TEST_SPLIT = { first: 11, last: 510 };

/** Python programs from a sentence and three assertions (Austin et al., 2021), asked without shots. */
export function mbppTasks(
  parts: Pick<Benchmark, 'name' | 'description'> & { readonly config: string },
): Benchmark {
  const { name, description, config } = parts;
  return {
    name,
    version: 1,
    description,
    comparableWith:
      'Zero-shot MBPP pass@1 with the assertions in the prompt. Not 3-shot scores of base models, nor MBPP+, which has more tests.',
    data: {
      hub: 'google-research-datasets/mbpp',
      revision: '4bb6404fdc6cacfda99d4ac4205087b89d32030c',
      split: 'test',
      configs: [config],
    },
    orderSeed: 42,
    toExample(row) {
      const number = Number(textField(row, ['task_id']));
      if (number < TEST_SPLIT.first || number > TEST_SPLIT.last) return null;
      const tests = textListField(row, ['test_list']);
      return {
        id: `${name}/${number}`,
        messages: [{ role: 'user', content: mbppQuestion(textField(row, ['prompt', 'text']), tests) }],
        target: null,
        row: fieldsOf(row, ['test_list', 'test_imports', 'test_setup_code']),
      };
    },
    generation: GENERATION,
    needsSandbox: true,
    grader: fromRows(mbppRows),
  };
}

/** The sentence of the paper, and where to put the code. */
export function mbppQuestion(task: string, tests: readonly string[]): string {
  return `You are an expert Python programmer, and here is your task: ${task.trim()} Your code should pass these tests:\n\n${tests.join('\n')}\n\nReply with the code in one \`\`\`python code block.`;
}
