import { isHeldOutPair } from '../../core/held-out-pairs';
import { makeExampleId } from '../../evaluation/example';
import { numericAnswer } from '../../evaluation/graders/numeric-answer';
import type { EnvironmentDataset, EnvironmentGroup } from './environment-dataset';
import { exampleGroup } from './example-group';

type Sum = readonly [left: number, right: number];

export interface ArithmeticOptions {
  /** Of both numbers. */
  readonly digits: number;
  readonly formatPenalty: number;
  /** Rewards the share of the sum's digits that stand in their places: a way up for a model that is never right yet. */
  readonly partialCredit?: boolean;
}

/** Numbers of a length that sums are made of; all of them up to two digits. */
const MOST_NUMBERS = 100;
const NUMBER_ALONE = /^\s*\d+\s*$/;
const GRADER = numericAnswer();

/**
 * Sums of two numbers, asked as "37+58=", as the benchmark `arithmetic` asks them. The last number is the answer; the
 * format is a number and nothing else.
 *
 * Pairs for which `isHeldOutPair` holds are the test set and never trained on; numbers of more than two digits are held
 * out by their last two.
 */
export function arithmeticEnvironments(options: ArithmeticOptions): EnvironmentDataset {
  const sums = sumsOf(options.digits);
  const datasetOf = (chosen: readonly Sum[], test: EnvironmentDataset | null): EnvironmentDataset => ({
    name: 'arithmetic',
    length: chosen.length,
    groupAt: (index) => groupOf(chosen[index] ?? [0, 0], options),
    test,
  });
  const heldOut = sums.filter(isHeldOut);
  return datasetOf(
    sums.filter((sum) => !isHeldOut(sum)),
    heldOut.length > 0 ? datasetOf(heldOut, null) : null,
  );
}

function sumsOf(digits: number): Sum[] {
  const least = digits === 1 ? 0 : 10 ** (digits - 1);
  const stride = Math.max(1, Math.floor((10 ** digits - least) / MOST_NUMBERS));
  const count = Math.ceil((10 ** digits - least) / stride);
  const numbers = Array.from({ length: count }, (_, index) => least + index * stride);
  return numbers.flatMap((left) => numbers.map((right): Sum => [left, right]));
}

function isHeldOut([left, right]: Sum): boolean {
  return isHeldOutPair(left % 100, right % 100);
}

function groupOf(
  [left, right]: Sum,
  { formatPenalty, partialCredit = false }: ArithmeticOptions,
): EnvironmentGroup {
  const question = `${left}+${right}=`;
  const target = String(left + right);
  return exampleGroup({
    example: {
      id: makeExampleId('arithmetic', question),
      messages: [{ role: 'user', content: question }],
      target,
    },
    grader: GRADER,
    tags: ['arithmetic'],
    formatPenalty,
    checkFormat: (completion) => NUMBER_ALONE.test(completion),
    ...(partialCredit && { rewardOf: ({ answer }) => rightDigits(answer ?? '', target) }),
  });
}

function rightDigits(answer: string, target: string): number {
  if (answer.length > target.length) return 0;
  const right = Array.from(target).filter((digit, index) => answer[index] === digit);
  return right.length / target.length;
}
