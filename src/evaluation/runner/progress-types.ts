import type { ShardProgress } from '../../core/benchmark-run';
import { isRecord } from '../../stores/json-lines';

/** One of an earlier version may not say them. */
const COUNTS = ['total', 'errorCount', 'truncatedCount', 'completedCount', 'unreadCount'] as const;

/** Whether what lies in a `progress.json` can be summed and shown. Files can be copied, edited and damaged. */
export function isShardProgress(progress: Partial<ShardProgress>): boolean {
  const { done, rewardSum, rewardSquares, examples } = progress;
  return (
    [done, ...COUNTS.map((name) => progress[name] ?? 0)].every(isCount) &&
    [rewardSum, rewardSquares].every(Number.isFinite) &&
    (examples === undefined || areExamples(examples))
  );
}

function areExamples(examples: NonNullable<ShardProgress['examples']>): boolean {
  return (
    isRecord(examples) && isCount(examples.count) && [examples.sum, examples.squares].every(Number.isFinite)
  );
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
