import { minimumDetectableDifference } from '../../core/statistics/minimum-detectable-difference';
import type { RawComparison } from './compare-scores';

const ALPHA = 0.05;

export interface VerdictFacts {
  readonly a: string;
  readonly b: string;
  /** `decisionPValue`, corrected. */
  readonly pDecision: number;
  readonly pAdjusted: number;
  /** How many comparisons are corrected for. */
  readonly comparisonCount: number;
}

/** What a comparison lets one say, in words; which way is better is said where less is. */
export function verdictOf(comparison: RawComparison, facts: VerdictFacts): string {
  const verdict = verdictInWords(comparison, facts);
  return comparison.higherIsBetter ? verdict : `${verdict}; lower is better`;
}

function verdictInWords(comparison: RawComparison, facts: VerdictFacts): string {
  const { difference, wins, losses, higherIsBetter } = comparison;
  if (wins + losses === 0) return 'no example was scored differently';
  if (facts.pDecision >= ALPHA) return undecided(comparison, facts);
  const better = difference > 0 === higherIsBetter ? facts.a : facts.b;
  return `${better} is better: by ${scoreText(Math.abs(difference))}${rangeOf(comparison)}, p ${pText(facts.pDecision)}`;
}

function undecided(comparison: RawComparison, facts: VerdictFacts): string {
  const { standardError, n, clusterCount } = comparison;
  const careful = comparison.mcnemar && clusterCount === undefined ? 'exact McNemar' : 't';
  const reason =
    facts.pAdjusted < ALPHA
      ? ` (z says p ${pText(facts.pAdjusted)}, the ${careful} test ${pText(facts.pDecision)})`
      : '';
  const begin = `no difference can be told${reason}`;
  if (standardError === null || comparison.z === null)
    return `${begin}: ${n === 1 ? '1 example is' : `${n} examples are`} too few`;
  const detectable = minimumDetectableDifference(
    { kind: 'paired', n, differenceDeviation: standardError * Math.sqrt(n) },
    { alpha: ALPHA / facts.comparisonCount },
  );
  return `${begin}; ${n} examples could have shown one of ${scoreText(detectable)}`;
}

/** The interval of the absolute difference, where there is a spread to tell it from. */
function rangeOf({ difference, interval }: RawComparison): string {
  if (interval === null || interval[0] === interval[1]) return '';
  const bounds = difference > 0 ? interval : [-interval[1], -interval[0]];
  return ` [${bounds.map(scoreText).join(', ')}]`;
}

/** Differences of a loss may be far below what four places show. */
function scoreText(value: number): string {
  const rounded = Number(value.toFixed(4));
  return String(Math.abs(rounded) < 0.001 ? Number(value.toPrecision(2)) : rounded);
}

function pText(value: number): string {
  return value < 0.0001 ? '< 0.0001' : String(Number(value.toPrecision(2)));
}
