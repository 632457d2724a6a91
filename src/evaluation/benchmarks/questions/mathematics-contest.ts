import { makeExampleId } from '../../example';
import type { Grader } from '../../graders/grader';
import { textField } from '../../graders/row-fields';
import type { Benchmark } from '../benchmark';
import { GENERATION } from '../benchmark';
import { BOXED_SYSTEM_PROMPT } from './boxed-system-prompt';

interface Contest {
  /** Also the name of MathArena's dataset. */
  readonly name: string;
  readonly revision: string;
  readonly description: string;
  readonly comparableWith: string;
  /** What the question is followed by. */
  readonly instruction: string;
  readonly grader: Grader;
}

/** One year's problems of a contest as MathArena publishes them. */
export function mathematicsContest(contest: Contest): Benchmark {
  const { name, revision, description, comparableWith, instruction, grader } = contest;
  return {
    name,
    version: 1,
    description,
    comparableWith,
    data: { hub: `MathArena/${name}`, revision, split: 'train' },
    orderSeed: 42,
    toExample(row) {
      const problem = textField(row, ['problem', 'question', 'Problem']);
      return {
        id: makeExampleId(name, problem),
        messages: [{ role: 'user', content: `${problem}\n\n${instruction}` }],
        target: textField(row, ['answer', 'Answer']).trim(),
      };
    },
    systemPrompt: BOXED_SYSTEM_PROMPT,
    generation: GENERATION,
    grader,
  };
}
