import { aime } from '../../graders/math/math-graders';
import type { Benchmark } from '../benchmark';
import { mathematicsContest } from './mathematics-contest';

/** Both papers of one year of the American Invitational Mathematics Examination. */
export function aimeContest({
  year,
  revision,
}: {
  readonly year: number;
  readonly revision: string;
}): Benchmark {
  return mathematicsContest({
    name: `aime_${year}`,
    revision,
    description: `AIME ${year}: both papers, 30 problems with an integer from 0 to 999 as answer, no shots`,
    comparableWith:
      'MathArena and model cards, which average over at least four samples: one sample of 30 problems is uncertain by 9 points and more.',
    instruction:
      'The answer is an integer from 0 to 999. Reason step by step and put your final answer in \\boxed{}.',
    grader: aime,
  });
}
