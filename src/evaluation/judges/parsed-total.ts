import type { MaybeClustered } from '../../core/statistics/clustered-mean';
import { meanOf } from '../../core/statistics/mean';
import { DomainError } from '../../core/errors';
import type { StoredResult } from '../../stores/eval-store';
import type { GraderTotal, TotalledUnit } from '../graders/grader';
import { spreadOf } from '../runner/score-spread';

/** The metric of a unit of which no judge gave a verdict that can be read: 1. */
export const UNPARSED = 'unparsed';

/** The metric of a result: how many units those were. */
export const NUM_UNPARSED = 'num_unparsed';

/** How many units a score is of: those without a verdict that can be read are in none. */
export function numRead({ num_examples, metrics }: Pick<StoredResult, 'num_examples' | 'metrics'>): number {
  return num_examples - (metrics[NUM_UNPARSED] ?? 0);
}

export function isUnparsed({ metrics }: Partial<Pick<TotalledUnit, 'metrics'>>): boolean {
  return metrics?.[UNPARSED] === 1;
}

/**
 * Units without a readable verdict are counted and left out of the mean; errors and truncations count 0 in `score`, as
 * everywhere.
 */
export function totalOfParsed(units: readonly TotalledUnit[]): GraderTotal {
  const parsed = units.filter((unit) => !isUnparsed(unit));
  refuseNone(units, parsed);
  const examples = examplesOf(parsed);
  const completed = parsed.filter(({ isComplete }) => isComplete);
  const spread = spreadOf(examples, {
    isBinary: parsed.every(isRightOrWrong),
    isAskedOnce: examples.length === parsed.length,
  });
  return {
    ...spread,
    score_completed: meanOf(examplesOf(completed).map(({ value }) => value))?.mean ?? null,
    num_completed: completed.length,
    metrics: { [NUM_UNPARSED]: units.length - parsed.length },
  };
}

/** A score of 0 because no verdict could be read would be a lie. Answers that failed or were cut off were shown to nobody. */
export function refuseNone(units: readonly TotalledUnit[], parsed: readonly TotalledUnit[]): void {
  const unreadCount = units.length - parsed.length;
  if (parsed.some(({ isComplete }) => isComplete) || (parsed.length > 0 && unreadCount === 0)) return;
  throw new DomainError(
    'request-failed',
    `None of ${unreadCount} verdicts can be read. See the judge's words in journal/*/judgements.jsonl beneath the folder of the results; a judge that is cut off needs a larger maxTokens. What was said is kept: one that was mended is asked anew under another --run, with --answers-from and --set judge.0.cache=false.`,
  );
}

/** Samples of one example are not independent of one another. */
function examplesOf(units: readonly TotalledUnit[]): MaybeClustered[] {
  const examples = new Map<string, TotalledUnit[]>();
  for (const unit of units) examples.set(unit.exampleId, [...(examples.get(unit.exampleId) ?? []), unit]);
  return [...examples.values()].map((samples) => ({
    value: meanOf(samples.map(({ value }) => value))?.mean ?? 0,
    cluster: samples[0]?.cluster ?? null,
  }));
}

function isRightOrWrong({ value }: TotalledUnit): boolean {
  return value === 0 || value === 1;
}
