import type { RunSort, RunSummary } from './run-summary';

type Row = Pick<RunSummary, 'run' | 'startedAt' | 'step' | 'score'>;

/** The first rows of an order, of however many that are offered. Holds twice the limit at most. */
export class Selection<Summary extends Row> {
  private kept: Summary[] = [];
  offeredCount = 0;

  constructor(
    private readonly sort: RunSort,
    private readonly limit = Infinity,
  ) {}

  offer(row: Summary): void {
    this.offeredCount += 1;
    this.kept.push(row);
    if (this.kept.length >= 2 * this.limit + 64) this.cut();
  }

  rows(): Summary[] {
    this.cut();
    return this.kept;
  }

  private cut(): void {
    const order = ORDERS[this.sort];
    this.kept.sort(
      (left, right) => order(left, right) || newestFirst(left, right) || left.run.localeCompare(right.run),
    );
    if (this.kept.length > this.limit) this.kept = this.kept.slice(0, this.limit);
  }
}

const ORDERS: Readonly<Record<RunSort, (left: Row, right: Row) => number>> = {
  started: newestFirst,
  step: (left, right) => right.step - left.step,
  score: bestFirst,
};

function newestFirst(left: Row, right: Row): number {
  return right.startedAt.localeCompare(left.startedAt);
}

/** Metrics that rise as a model gets better before those that fall, and runs without a score last. */
function bestFirst(left: Row, right: Row): number {
  const [ranks, values] = [[left, right].map(rankOf), [left, right].map(goodnessOf)];
  const [leftRank = 0, rightRank = 0] = ranks;
  const [leftValue = 0, rightValue = 0] = values;
  return leftRank - rightRank || rightValue - leftValue;
}

function rankOf({ score }: Row): number {
  if (score?.value == null) return 2;
  return score.higherIsBetter === false ? 1 : 0;
}

function goodnessOf({ score }: Row): number {
  const value = score?.value ?? 0;
  return score?.higherIsBetter === false ? -value : value;
}
