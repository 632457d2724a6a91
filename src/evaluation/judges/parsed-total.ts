import { meanOf } from '../../core/statistics/mean';
import { meanInterval } from '../../core/statistics/mean-interval';
import type { Interval } from '../../core/statistics/wilson-interval';
import { wilsonInterval } from '../../core/statistics/wilson-interval';
import { DomainError } from '../../core/errors';
import type { GraderTotal, TotalledUnit } from '../graders/grader';

/** The metric of a unit of which no judge gave a verdict that can be read: 1. */
export const UNPARSED = 'unparsed';

export function isUnparsed({ metrics }: Pick<TotalledUnit, 'metrics'>): boolean {
  return metrics[UNPARSED] === 1;
}

/**
 * Units without a readable verdict are counted and left out of the mean; errors and truncations count 0 in `score`, as
 * everywhere.
 */
export function totalOfParsed(units: readonly TotalledUnit[]): GraderTotal {
  const parsed = units.filter((unit) => !isUnparsed(unit));
  refuseNone(units, parsed);
  const means = exampleMeans(parsed);
  const score = meanOf(means);
  const completed = parsed.filter(({ isComplete }) => isComplete);
  const isProportion = means.length === parsed.length && means.every((mean) => mean === 0 || mean === 1);
  return {
    score: score?.mean ?? 0,
    stderr: score?.standardError ?? null,
    ci: isProportion
      ? wilsonInterval(means.filter((mean) => mean === 1).length, means.length)
      : clipped(score, { exampleCount: means.length, isBinary: parsed.every(isRightOrWrong) }),
    score_completed: meanOf(exampleMeans(completed))?.mean ?? null,
    num_completed: completed.length,
    metrics: { num_unparsed: units.length - parsed.length },
  };
}

/** A score of 0 because no verdict could be read would be a lie. */
export function refuseNone(units: readonly TotalledUnit[], parsed: readonly TotalledUnit[]): void {
  if (parsed.length > 0) return;
  throw new DomainError(
    'request-failed',
    `None of ${units.length} verdicts can be read. See the judge's words in journal/*/judgements.jsonl; a judge that is cut off needs a larger maxTokens.`,
  );
}

/** Samples of one example are not independent of one another. */
function exampleMeans(units: readonly TotalledUnit[]): number[] {
  const examples = new Map<string, number[]>();
  for (const { exampleId, value } of units)
    examples.set(exampleId, [...(examples.get(exampleId) ?? []), value]);
  return [...examples.values()].map((values) => meanOf(values)?.mean ?? 0);
}

function isRightOrWrong({ value }: TotalledUnit): boolean {
  return value === 0 || value === 1;
}

function clipped(
  score: ReturnType<typeof meanOf>,
  { exampleCount, isBinary }: { readonly exampleCount: number; readonly isBinary: boolean },
): Interval | null {
  if (score?.standardError == null) return null;
  const { mean, standardError } = score;
  const [low, high] = meanInterval({ mean, standardError, clusterCount: exampleCount, isBinary });
  return [Math.max(0, low), Math.min(1, high)];
}
