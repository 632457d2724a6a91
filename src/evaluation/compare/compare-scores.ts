import { clusteredSpread } from '../../core/statistics/clustered-mean';
import type { RatioPart } from '../../core/statistics/mean';
import { meanOf, ratioOf } from '../../core/statistics/mean';
import { mcnemarExact } from '../../core/statistics/mcnemar';
import { normalTwoSided } from '../../core/statistics/normal-distribution';
import type { PairedDifference } from '../../core/statistics/paired-difference';
import { pairedDifference } from '../../core/statistics/paired-difference';
import { studentTwoSided } from '../../core/statistics/t-distribution';
import type { Interval } from '../../core/statistics/wilson-interval';
import { Z_95 } from '../../core/statistics/wilson-interval';
import type { Comparison, FlippedExample } from './comparison';

type Scores = ReadonlyMap<string, number>;

/** A comparison before it is corrected for those made beside it. */
export interface RawComparison extends Omit<
  Comparison,
  'a' | 'b' | 'benchmark' | 'pAdjusted' | 'pDecision' | 'verdict'
> {
  /**
   * What the verdict rests on: the larger of `pValue` and an exact or small-sample test. z alone promises too much with few
   * examples: with five of ten won and none lost it says 0.003, McNemar's exact test 0.06.
   */
  readonly decisionPValue: number;
  readonly flipped: readonly FlippedExample[];
}

export interface ScoreTraits {
  readonly higherIsBetter?: boolean | undefined;
  /** What examples hang on together, by example. */
  readonly clusters?: ReadonlyMap<string, string>;
}

/** Compares two systems on the examples both have; null where they share none. A win is an example that A did better. */
export function compareScores(
  a: Scores,
  b: Scores,
  { higherIsBetter = true, clusters = new Map() }: ScoreTraits = {},
): RawComparison | null {
  const examples = sharedExamples(a, b).map((example) => ({
    ...example,
    difference: example.scoreA - example.scoreB,
  }));
  const scoreA = averageOf(examples.map((example) => example.scoreA));
  const scoreB = averageOf(examples.map((example) => example.scoreB));
  return compareExamples(examples, { scoreA, scoreB, higherIsBetter, clusters });
}

/**
 * The same for two ratios of sums over the examples, such as a loss per token, of which less is better. null where they share no
 * example that counts.
 *
 * Each example stands for the difference of the ratios plus its share in how far they are off, so that the mean over examples is that
 * difference and its standard error the one of a ratio estimator, as in `ratioOf`, with the covariance of the two sides
 * (Cochran, Sampling Techniques, §6.5).
 */
export function compareRatios(
  a: ReadonlyMap<string, RatioPart>,
  b: ReadonlyMap<string, RatioPart>,
): RawComparison | null {
  const shared = [...a].flatMap(([exampleId, partA]) => {
    const partB = b.get(exampleId);
    return partB && partA.denominator > 0 && partB.denominator > 0 ? [{ exampleId, partA, partB }] : [];
  });
  const scoreA = ratioOf(shared.map(({ partA }) => partA))?.mean;
  const scoreB = ratioOf(shared.map(({ partB }) => partB))?.mean;
  if (scoreA === undefined || scoreB === undefined) return null;
  const meanA = averageOf(shared.map(({ partA }) => partA.denominator));
  const meanB = averageOf(shared.map(({ partB }) => partB.denominator));
  const examples = shared.map(({ exampleId, partA, partB }) => ({
    exampleId,
    scoreA: partA.numerator / partA.denominator,
    scoreB: partB.numerator / partB.denominator,
    difference:
      scoreA -
      scoreB +
      (partA.numerator - scoreA * partA.denominator) / meanA -
      (partB.numerator - scoreB * partB.denominator) / meanB,
  }));
  return compareExamples(examples, { scoreA, scoreB, higherIsBetter: false, clusters: new Map() });
}

/** What an example adds to the difference that is tested. */
interface ComparedExample extends FlippedExample {
  readonly difference: number;
}

interface ComparedTraits extends Required<Pick<RawComparison, 'scoreA' | 'scoreB' | 'higherIsBetter'>> {
  readonly clusters: ReadonlyMap<string, string>;
}

function compareExamples(
  examples: readonly ComparedExample[],
  { scoreA, scoreB, higherIsBetter, clusters }: ComparedTraits,
): RawComparison | null {
  const paired = pairedDifference(examples.map(({ difference }) => [difference, 0]));
  if (paired === null) return null;
  const above = examples.filter((example) => example.scoreA > example.scoreB).length;
  const below = examples.filter((example) => example.scoreA < example.scoreB).length;
  const [wins, losses] = higherIsBetter ? [above, below] : [below, above];
  const isBinary = examples.every((example) => isZeroOrOne(example.scoreA) && isZeroOrOne(example.scoreB));
  const signTest = mcnemarExact(wins, losses);
  return {
    ...testsOf(clusteredDifference(paired, examples, clusters), { signTest, isBinary }),
    ...{ scoreA, scoreB },
    mcnemar: isBinary ? { onlyA: wins, onlyB: losses, pValue: signTest } : null,
    wins,
    losses,
    ties: examples.length - wins - losses,
    flipped: flippedOf(examples),
    higherIsBetter,
  };
}

interface SignFacts {
  readonly signTest: number;
  readonly isBinary: boolean;
}

interface Difference extends PairedDifference {
  readonly clusterCount?: number;
}

/** Examples that hang together vary together: their spread is that of clusters (Miller 2024). One without a cluster is its own. */
function clusteredDifference(
  paired: PairedDifference,
  examples: readonly ComparedExample[],
  clusters: ReadonlyMap<string, string>,
): Difference {
  const spread = clusteredSpread(
    examples.map(({ exampleId, difference: value }) => ({
      value,
      cluster: clusters.get(exampleId) ?? null,
    })),
  );
  if (spread === null) return paired;
  const { standardError, clusterCount } = spread;
  const { difference, n } = paired;
  return {
    ...{ difference, n, standardError, clusterCount },
    z: standardError === 0 ? null : difference / standardError,
    interval: [difference - Z_95 * standardError, difference + Z_95 * standardError],
  };
}

function testsOf(paired: Difference, { signTest, isBinary }: SignFacts) {
  const { difference, standardError, interval, n, clusterCount } = paired;
  // Rounding leaves a speck of spread where every difference is the same.
  const z = standardError !== null && standardError > 1e-12 ? paired.z : null;
  const pValue = z === null ? signTest : normalTwoSided(z);
  const student = z === null ? signTest : studentTwoSided(z, (clusterCount ?? n) - 1);
  // The sign test takes examples to be independent, so that with clusters it is not enough.
  const careful = isBinary ? Math.max(signTest, clusterCount === undefined ? 0 : student) : student;
  return {
    ...{ n, difference, standardError, z, pValue, interval: isBinary ? withinShares(interval) : interval },
    ...(clusterCount !== undefined && { clusterCount }),
    decisionPValue: Math.max(pValue, careful),
  };
}

/** No two shares are further apart than 1. */
function withinShares(interval: Interval | null): Interval | null {
  return interval && [Math.max(-1, interval[0]), Math.min(1, interval[1])];
}

function averageOf(values: readonly number[]): number {
  return meanOf(values)?.mean ?? 0;
}

function sharedExamples(a: Scores, b: Scores): FlippedExample[] {
  return [...a].flatMap(([exampleId, scoreA]) => {
    const scoreB = b.get(exampleId);
    return scoreB === undefined ? [] : [{ exampleId, scoreA, scoreB }];
  });
}

function flippedOf(examples: readonly FlippedExample[]): FlippedExample[] {
  const size = ({ scoreA, scoreB }: FlippedExample) => Math.abs(scoreA - scoreB);
  return examples
    .filter(({ scoreA, scoreB }) => scoreA !== scoreB)
    .map(({ exampleId, scoreA, scoreB }) => ({ exampleId, scoreA, scoreB }))
    .sort((left, right) => size(right) - size(left) || (left.exampleId < right.exampleId ? -1 : 1));
}

function isZeroOrOne(score: number): boolean {
  return score === 0 || score === 1;
}
