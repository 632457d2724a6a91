import type { GradedResponse } from './grade-responses';
import type { RowGrader } from './row-grader';

export interface GradingSummary {
  readonly grader: string;
  readonly version: string;
  readonly count: number;
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
  private unansweredCount = 0;
  private readonly sums = new Map<string, number>();

  add({ score, answer, metrics }: GradedResponse): void {
    this.count++;
    const before = score - this.mean;
    this.mean += before / this.count;
    this.squares += before * (score - this.mean);
    if (answer === null) this.unansweredCount++;
    for (const [name, value] of Object.entries(metrics))
      this.sums.set(name, (this.sums.get(name) ?? 0) + value);
  }

  summary(grader: RowGrader): GradingSummary {
    const { count } = this;
    const means = [...this.sums].map(([name, sum]): [string, number] => [name, sum / Math.max(1, count)]);
    const metrics = Object.fromEntries(means);
    return {
      grader: grader.name,
      version: grader.version,
      count,
      score: count === 0 ? null : this.mean,
      standardError: count < 2 ? null : Math.sqrt(this.squares / (count - 1) / count),
      unansweredCount: this.unansweredCount,
      metrics: grader.summarize?.(metrics) ?? metrics,
    };
  }
}
