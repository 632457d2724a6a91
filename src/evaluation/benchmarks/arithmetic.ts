import { isHeldOutPair } from '../../core/held-out-pairs';
import { shuffledIndices } from '../../core/random';
import { makeExampleId } from '../example';
import type { Example } from '../example';
import { numericAnswer } from '../graders/numeric-answer';
import type { Benchmark } from './benchmark';

const ORDER_SEED = 20_250_101;

/**
 * Sums of two two-digit numbers, asked as "37+58=" without examples.
 *
 * Only pairs that are in no training data of ours (`isHeldOutPair`), so that the score measures adding and not memory.
 * The last number of the completion is the answer. Made for the model that ships with Everstep; it has no published number.
 */
export const arithmetic: Benchmark = {
  name: 'arithmetic',
  version: 1,
  description: 'Sums of two-digit numbers held out from all shipped training data',
  generation: { maxTokens: 8, temperature: 0, topP: 1 },
  grader: numericAnswer(),
  examples() {
    const all = heldOutSums();
    return [...shuffledIndices(all.length, ORDER_SEED)].flatMap((index) => all[index] ?? []);
  },
};

function heldOutSums(): Example[] {
  const examples: Example[] = [];
  for (let a = 10; a <= 99; a++) {
    for (let b = 10; b <= 99; b++) if (isHeldOutPair(a, b)) examples.push(sumOf(a, b));
  }
  return examples;
}

function sumOf(a: number, b: number): Example {
  const question = `${a}+${b}=`;
  return {
    id: makeExampleId('arithmetic', question),
    messages: [{ role: 'user', content: question }],
    target: String(a + b),
  };
}
