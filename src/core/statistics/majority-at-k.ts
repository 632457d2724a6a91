import { largestOf } from '../extremes';
import { createRandom } from '../random';
import { logChoose } from './log-gamma';

export interface AnsweredSample {
  /** Samples with the same answer vote together; null has no vote. */
  readonly answer: string | null;
  readonly score: number;
}

export interface MajorityOptions {
  /** Subsets that are drawn where there are too many to visit. */
  readonly rounds?: number;
  readonly seed?: number;
}

/** With no more subsets than this all are visited. */
const EXACT_LIMIT = 10_000;

/**
 * maj@k: the expected score of the answer that most of k samples give, k drawn without replacement from those there are.
 * Exact up to 10,000 subsets, else the mean over `rounds` seeded draws. Tied answers share the win, so the order of the samples does not
 * matter; a subset without answers scores 0. An answer's score is the mean of its samples' in the subset.
 * null when fewer than k samples were drawn.
 */
export function majorityAtK(
  samples: readonly AnsweredSample[],
  k: number,
  { rounds = 1000, seed = 0 }: MajorityOptions = {},
): number | null {
  if (k < 1 || samples.length < k) return null;
  let sum = 0;
  let count = 0;
  for (const subset of subsetsOf(samples, k, { rounds, seed })) {
    sum += majorityScore(subset);
    count++;
  }
  return sum / count;
}

/**
 * best@k: the expected best score of k samples, k drawn without replacement from those there are; for scores of 0 and 1
 * the same as pass@k. Exact: the i-th smallest of n is the best with chance C(i−1, k−1) / C(n, k).
 * null when fewer than k samples were drawn.
 */
export function bestAtK(scores: readonly number[], k: number): number | null {
  const n = scores.length;
  if (k < 1 || n < k) return null;
  const sorted = [...scores].sort((left, right) => left - right);
  return sorted.reduce((sum, score, index) => {
    if (index < k - 1) return sum;
    return sum + score * Math.exp(logChoose(index, k - 1) - logChoose(n, k));
  }, 0);
}

function subsetsOf<Value>(
  values: readonly Value[],
  k: number,
  { rounds, seed }: Required<MajorityOptions>,
): Generator<readonly Value[]> {
  const count = Math.exp(logChoose(values.length, k));
  return count <= EXACT_LIMIT + 0.5 ? allSubsets(values, k) : drawnSubsets(values, k, { rounds, seed });
}

function* allSubsets<Value>(values: readonly Value[], k: number): Generator<readonly Value[]> {
  if (k === 0) {
    yield [];
    return;
  }
  for (const [index, value] of values.slice(0, values.length - k + 1).entries()) {
    for (const rest of allSubsets(values.slice(index + 1), k - 1)) yield [value, ...rest];
  }
}

function* drawnSubsets<Value>(
  values: readonly Value[],
  k: number,
  { rounds, seed }: Required<MajorityOptions>,
): Generator<readonly Value[]> {
  const random = createRandom(seed);
  for (let round = 0; round < rounds; round++) {
    const left = [...values];
    const drawn: Value[] = [];
    while (drawn.length < k) drawn.push(...left.splice(Math.floor(random() * left.length), 1));
    yield drawn;
  }
}

function majorityScore(subset: readonly AnsweredSample[]): number {
  const votes = new Map<string, number[]>();
  for (const { answer, score } of subset) {
    if (answer !== null) votes.set(answer, [...(votes.get(answer) ?? []), score]);
  }
  const most = largestOf([...votes.values()].map(({ length }) => length));
  const winners = [...votes.values()].filter(({ length }) => length === most);
  if (winners.length === 0) return 0;
  return averageOf(winners.map(averageOf));
}

function averageOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
