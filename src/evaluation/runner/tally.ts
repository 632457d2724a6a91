import type { ExampleCounts, ShardCounts } from '../../core/benchmark-run';
import { NO_COUNTS, unreadOf } from '../../core/benchmark-run';
import { isUnparsed } from '../judges/parsed-total';
import type { GradeRow } from './shard-rows';
import type { ExampleUnit, ShardTask } from './shard-task';

/** What counts of a judgement. */
export type Tallied = Pick<GradeRow, 'value' | 'truncation' | 'error'> & { readonly isUnread?: true };

/** What counts of a row, and no more: there may be a million of them. */
export function countingOf(row: GradeRow): Tallied {
  const { value, truncation, error } = row;
  return {
    value,
    ...(truncation && { truncation }),
    ...(error !== undefined && { error }),
    ...(isUnparsed(row) && { isUnread: true }),
  };
}

/** How many samples of a shard are done, and what their score is so far. */
export class Tally {
  counts: ShardCounts;
  /** Of each example that has some of its samples. */
  private readonly begun = new Map<string, BegunExample>();

  constructor(private readonly task: ShardTask) {
    const total = task.examples.length * task.subject.numSamples;
    this.counts = { ...NO_COUNTS, total };
  }

  add(unit: ExampleUnit, tallied: Tallied): void {
    const { truncation, error, isUnread = false } = tallied;
    const { total, done, errorCount, truncatedCount, completedCount, rewardSum, rewardSquares } = this.counts;
    const isError = error !== undefined;
    const isTruncated = truncation !== undefined;
    const value = isUnread ? 0 : tallied.value;
    this.counts = {
      total,
      done: done + 1,
      errorCount: errorCount + Number(isError),
      truncatedCount: truncatedCount + Number(isTruncated),
      completedCount: completedCount + Number(!isError && !isTruncated),
      rewardSum: rewardSum + value,
      rewardSquares: rewardSquares + value * value,
      ...unreadOf((this.counts.unreadCount ?? 0) + Number(isUnread)),
      ...this.examplesWith(unit.example.id, isUnread ? null : value),
    };
    this.task.onProgress(this.counts);
  }

  /** What a score of several samples is made of; `value` is null for a verdict that cannot be read. */
  private examplesWith(id: string, value: number | null): Pick<ShardCounts, 'examples'> {
    const { numSamples } = this.task.subject;
    if (numSamples === 1) return {};
    const before = this.begun.get(id) ?? { done: 0, read: 0, sum: 0 };
    const example = {
      done: before.done + 1,
      read: before.read + Number(value !== null),
      sum: before.sum + (value ?? 0),
    };
    if (example.done < numSamples) this.begun.set(id, example);
    else this.begun.delete(id);
    const examples = this.counts.examples ?? { count: 0, sum: 0, squares: 0 };
    return { examples: value === null ? examples : withExample(examples, before, example) };
  }
}

interface BegunExample {
  readonly done: number;
  /** Of those, the ones that have a score. */
  readonly read: number;
  readonly sum: number;
}

/** With the mean of what an example has now in place of that of what it had. */
function withExample(counts: ExampleCounts, before: BegunExample, now: BegunExample): ExampleCounts {
  const [old, mean] = [meanOfRead(before), meanOfRead(now)];
  return {
    count: counts.count + Number(before.read === 0),
    sum: counts.sum - old + mean,
    squares: counts.squares - old * old + mean * mean,
  };
}

function meanOfRead({ read, sum }: BegunExample): number {
  return read === 0 ? 0 : sum / read;
}
