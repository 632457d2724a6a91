import { makeExampleId } from '../example';
import { math500 as math500Grader } from '../graders/math/math-graders';
import { textField } from '../graders/row-fields';
import type { Benchmark } from './benchmark';
import { GENERATION } from './benchmark';
import { BOXED_SYSTEM_PROMPT } from './questions/boxed-system-prompt';
import { fieldsOf, groupField } from './questions/row-parts';
import { scoredByGroup } from './questions/scored-by-group';

/** The 500 problems of MATH that were held out by Lightman et al. (2023), without examples. */
export const math500: Benchmark = {
  name: 'math500',
  version: 1,
  description:
    'MATH-500: competition problems of seven subjects and five levels; 500 examples, no shots, mathematically equal answers',
  comparableWith:
    'Zero-shot scores of chat models by rules or algebra (prm800k, tinker-cookbook, MathArena). Scores by a judge model are a little higher.',
  data: {
    hub: 'HuggingFaceH4/MATH-500',
    revision: '6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be',
    split: 'test',
    files: ['test.jsonl'],
  },
  orderSeed: 42,
  toExample(row) {
    const problem = textField(row, ['problem']);
    return {
      id: makeExampleId('math500', problem),
      messages: [
        {
          role: 'user',
          content: `${problem}\n\nReason step by step and put your final answer in \\boxed{}.`,
        },
      ],
      target: textField(row, ['answer']),
      row: fieldsOf(row, ['subject', 'level']),
    };
  },
  systemPrompt: BOXED_SYSTEM_PROMPT,
  generation: GENERATION,
  grader: scoredByGroup('math500', math500Grader, (row) => [groupField(row, ['subject']), levelOf(row)]),
};

function levelOf(row: Parameters<typeof groupField>[0]): string | null {
  const level = groupField(row, ['level']);
  return level === null ? null : `level ${level}`;
}
