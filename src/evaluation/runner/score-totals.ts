import type { MaybeClustered } from '../../core/statistics/clustered-mean';
import { isToolCount } from '../../core/reinforcement/rollout-metrics';
import { meanOf } from '../../core/statistics/mean';
import { passAtK } from '../../core/statistics/pass-at-k';
import { passHatK } from '../../core/statistics/pass-hat-k';
import type { ResultIdentity, StoredResult } from '../../stores/eval-store';
import type { Grader, TotalledUnit } from '../graders/grader';
import { isUnparsed } from '../judges/parsed-total';
import { summarized, totalled } from './grader-sums';
import type { JudgedSamples } from './pass-rates';
import { passRates } from './pass-rates';
import { spreadOf } from './score-spread';
import type { JournalledUnit } from './trajectory-of';

export interface ResultFacts {
  readonly name: string;
  readonly identity: ResultIdentity;
  readonly seconds: number;
  readonly grader: Pick<Grader, 'name' | 'summarize' | 'total'>;
}

/** Of the samples of one example, as far as they were added. */
interface ExampleSums {
  readonly sampleCount: number;
  readonly reward: number;
  /** A verdict that cannot be read is neither right nor wrong. */
  readonly judged: JudgedSamples;
  readonly completed: { readonly count: number; readonly reward: number };
}

const NO_SUMS: ExampleSums = {
  sampleCount: 0,
  reward: 0,
  judged: { count: 0, correct: 0 },
  completed: { count: 0, reward: 0 },
};

/**
 * Sums up a benchmark, one unit at a time: samples of an example one after another. Scores are means over examples of the means of
 * their samples. Errors and truncations count 0 in `score`; `score_completed` leaves them out.
 */
export class ScoreTotals {
  /** Mean reward of each example: its samples are not independent of one another. */
  private readonly examples: MaybeClustered[] = [];
  /** Each name once: rows bring one of their own each. */
  private readonly clusters = new Map<string, string>();
  private readonly judged: JudgedSamples[] = [];
  /** Mean reward of each example that has completed samples, of those. */
  private readonly completed: number[] = [];
  private readonly metrics = new Map<string, { sum: number; count: number }>();
  private readonly counts = { units: 0, correct: 0, completed: 0, errors: 0, truncated: 0 };
  private readonly tokens = { sampled: 0, prompts: 0 };
  private current = NO_SUMS;
  /** Units one by one, for graders that sum up by themselves. */
  private readonly kept: TotalledUnit[] = [];
  private isBinary = true;
  private firstError: string | null = null;

  constructor(
    private readonly numSamples: number,
    private readonly keepsUnits = false,
  ) {}

  add(unit: JournalledUnit, error: string | null): void {
    const reward = unit.grade.value;
    const isTruncated = unit.grade.truncation !== undefined;
    this.counts.units += 1;
    this.counts.correct += Number(reward > 0);
    this.counts.errors += Number(error !== null);
    this.counts.truncated += Number(isTruncated);
    this.firstError ??= error;
    this.isBinary &&= reward === 0 || reward === 1;
    const isComplete = error === null && !isTruncated;
    this.counts.completed += Number(isComplete);
    if (this.keepsUnits) {
      const { id, cluster } = unit.unit.example;
      this.kept.push({
        exampleId: id,
        cluster: this.clusterName(cluster),
        value: reward,
        metrics: unit.grade.metrics ?? {},
        isComplete,
      });
    }
    this.addToExample(unit, isComplete);
    this.addNumbers(unit);
  }

  /** Why nothing could be scored: a score of 0 because nothing could be asked would be a lie. null where something was. */
  get failure(): string | null {
    const { units, errors, truncated } = this.counts;
    if (units === 0) return 'There are no examples. Check the dataset.';
    if (errors === 0 || errors + truncated < units) return null;
    const which = truncated === 0 ? `All ${units} examples` : `All ${errors} examples that were not cut off`;
    return `${which} failed, the first with: ${this.firstError ?? ''}`;
  }

  result({ name, identity, seconds, grader }: ResultFacts): StoredResult {
    const result: StoredResult = {
      name,
      ...spreadOf(this.examples, { isBinary: this.isBinary, isAskedOnce: this.numSamples === 1 }),
      score_completed: meanOf(this.completed)?.mean ?? null,
      num_examples: this.counts.units,
      num_completed: this.counts.completed,
      num_correct: this.counts.correct,
      num_errors: this.counts.errors,
      num_truncated: this.counts.truncated,
      metrics: { ...this.meansOfMetrics(grader), ...this.allCorrectRates(), ...this.tokenCounts() },
      time_seconds: seconds,
      // A part of a point, or a rating, is neither passed nor failed.
      pass_at_k: this.isBinary ? passRates(this.judged, this.numSamples, passAtK) : {},
      identity,
    };
    const total = totalled(grader, this.kept);
    return total ? { ...result, ...total, metrics: { ...result.metrics, ...total.metrics } } : result;
  }

  private addNumbers({ grade, samples }: JournalledUnit): void {
    for (const [name, value] of Object.entries(grade.metrics ?? {})) this.addMetric(name, value);
    for (const { prompt_tokens, completion_tokens } of samples) {
      this.tokens.prompts += prompt_tokens ?? 0;
      this.tokens.sampled += completion_tokens ?? 0;
    }
  }

  private addMetric(name: string, value: number): void {
    const metric = this.metrics.get(name) ?? { sum: 0, count: 0 };
    metric.sum += value;
    metric.count += 1;
    this.metrics.set(name, metric);
  }

  private addToExample({ unit, grade }: JournalledUnit, isComplete: boolean): void {
    const { current, numSamples } = this;
    const reward = grade.value;
    const judged = this.keepsUnits && isUnparsed(grade) ? 0 : 1;
    const sums: ExampleSums = {
      sampleCount: current.sampleCount + 1,
      reward: current.reward + reward,
      judged: {
        count: current.judged.count + judged,
        correct: current.judged.correct + judged * Number(reward > 0),
      },
      completed: {
        count: current.completed.count + Number(isComplete),
        reward: current.completed.reward + (isComplete ? reward : 0),
      },
    };
    const isWhole = sums.sampleCount === numSamples;
    this.current = isWhole ? NO_SUMS : sums;
    if (isWhole) this.addExample(sums, unit.example.cluster);
  }

  private addExample({ reward, sampleCount, judged, completed }: ExampleSums, cluster?: string): void {
    this.examples.push({ value: reward / sampleCount, cluster: this.clusterName(cluster) });
    this.judged.push(judged);
    if (completed.count > 0) this.completed.push(completed.reward / completed.count);
  }

  private clusterName(cluster: string | undefined): string | null {
    if (cluster === undefined) return null;
    const known = this.clusters.get(cluster) ?? cluster;
    this.clusters.set(known, known);
    return known;
  }

  private meansOfMetrics(grader: ResultFacts['grader']): Readonly<Record<string, number>> {
    // Tools note what happened only where it did.
    const countOf = (name: string, count: number) => (isToolCount(name) ? this.counts.units : count);
    const means = Object.fromEntries(
      [...this.metrics].map(([name, { sum, count }]) => [name, sum / countOf(name, count)]),
    );
    return summarized(grader, means);
  }

  private tokenCounts(): Record<string, number> {
    return { total_ac_tokens: this.tokens.sampled, total_ob_tokens: this.tokens.prompts };
  }

  private allCorrectRates(): Record<string, number> {
    if (this.numSamples === 1 || !this.isBinary) return {};
    return Object.fromEntries(
      Object.entries(passRates(this.judged, this.numSamples, passHatK)).map(([k, rate]) => [
        `pass_hat_k/${k}`,
        rate,
      ]),
    );
  }
}
