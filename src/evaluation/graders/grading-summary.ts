import type { GradedResponse, ResultLine } from './grade-responses';
import type { RowGrader, RowTotal } from './row-grader';

export interface GradingSummary {
  readonly grader: string;
  readonly version: string;
  /** Lines that were graded. */
  readonly count: number;
  /** Lines for which no verdict came about; in no other number. */
  readonly errorCount: number;
  /** Graded, and ended by a limit of time or memory. */
  readonly limitCount: number;
  /** Mean of the scores; null without lines. */
  readonly score: number | null;
  /** Of the mean, from the sample's spread; null below two lines. */
  readonly standardError: number | null;
  /** Responses in which no answer was found; they score 0 and count. */
  readonly unansweredCount: number;
  readonly metrics: Readonly<Record<string, number>>;
}

/** Adds results up without keeping them. */
export class GradingTotals {
  private count = 0;
  private mean = 0;
  private squares = 0;
  private errorCount = 0;
  private limitCount = 0;
  private unansweredCount = 0;
  private readonly sums = new Map<string, number>();
  private readonly total: RowTotal | undefined;

  constructor(private readonly grader: RowGrader) {
    this.total = grader.startTotal?.();
  }

  add(line: ResultLine): void {
    if (line.score === null) this.errorCount++;
    else this.addScore(line);
  }

  summary(): GradingSummary {
    const { count, grader } = this;
    const means = [...this.sums].map(([name, sum]): [string, number] => [name, sum / Math.max(1, count)]);
    const metrics = Object.fromEntries(means);
    return {
      grader: grader.name,
      version: grader.version,
      count,
      errorCount: this.errorCount,
      limitCount: this.limitCount,
      score: count === 0 ? null : this.mean,
      standardError: count < 2 ? null : Math.sqrt(this.squares / (count - 1) / count),
      unansweredCount: this.unansweredCount,
      metrics: { ...(grader.summarize?.(metrics) ?? metrics), ...this.total?.metrics() },
    };
  }

  private addScore({ score, answer, metrics, details }: GradedResponse): void {
    this.count++;
    this.total?.add({ metrics, details });
    const before = score - this.mean;
    this.mean += before / this.count;
    this.squares += before * (score - this.mean);
    if (answer === null) this.unansweredCount++;
    if (details['limit'] !== undefined) this.limitCount++;
    for (const [name, value] of Object.entries(metrics))
      this.sums.set(name, (this.sums.get(name) ?? 0) + value);
  }
}
