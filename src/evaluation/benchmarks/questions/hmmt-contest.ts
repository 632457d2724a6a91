import { hmmt } from '../../graders/math/math-graders';
import type { Benchmark } from '../benchmark';
import { mathematicsContest } from './mathematics-contest';

interface HmmtContest {
  readonly name: string;
  /** For people, such as "February 2025". */
  readonly title: string;
  readonly revision: string;
}

/** One Harvard-MIT Mathematics Tournament; answers are expressions or lists of them. */
export function hmmtContest({ name, title, revision }: HmmtContest): Benchmark {
  return mathematicsContest({
    name,
    revision,
    description: `HMMT ${title}: 30 problems with an expression as answer, no shots, mathematically equal answers`,
    comparableWith:
      'MathArena and model cards, which average over at least four samples: one sample of 30 problems is uncertain by 9 points and more.',
    instruction: 'Reason step by step and put your final answer in \\boxed{}.',
    grader: hmmt,
  });
}
