import { meanOf } from '../../../core/statistics/mean';
import type { StoredResult, StoredTrajectory } from '../../../stores/eval-store';
import { isUnparsed } from '../../judges/parsed-total';
import type { LogTotals } from './header-document';
import { epochOf, isScored, sampleIdOf } from './sample-document';
import { tokenUsage } from './token-usage';

/** How far a mean may lie from a stored score and be it: both are sums of the same numbers, in another order. */
const ROUNDING = 1e-9;

/** Counts samples as they pass, and gives each a name that no other has. */
export class SampleTotals {
  private readonly ids = new Set<string>();
  private readonly used = new Set<string>();
  private sampleCount = 0;
  private scoredCount = 0;
  /** Of each sample's id. An error counts 0, a verdict that cannot be read nothing. */
  private readonly rewards = new Map<string, { sum: number; count: number }>();
  private epochs = 1;
  private isBinary = true;
  private inputTokens = 0;
  private outputTokens = 0;

  constructor(private readonly result: StoredResult) {}

  add(trajectory: StoredTrajectory): string {
    const id = this.freeId(trajectory);
    this.ids.add(id);
    this.sampleCount += 1;
    this.scoredCount += Number(isScored(trajectory));
    if (!isUnparsed(trajectory)) this.addReward(id, trajectory.reward);
    this.isBinary &&= trajectory.reward === 0 || trajectory.reward === 1;
    this.epochs = Math.max(this.epochs, epochOf(trajectory));
    const usage = tokenUsage(trajectory.turns);
    this.inputTokens += usage.input_tokens;
    this.outputTokens += usage.output_tokens;
    return id;
  }

  end(): LogTotals {
    const { sampleCount, scoredCount, epochs, inputTokens, outputTokens } = this;
    return {
      sampleIds: [...this.ids],
      ...{ epochs, sampleCount, scoredCount, metric: this.metric() },
      usage: {
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        total_tokens: inputTokens + outputTokens,
      },
    };
  }

  private addReward(id: string, reward: number): void {
    const { sum, count } = this.rewards.get(id) ?? { sum: 0, count: 0 };
    this.rewards.set(id, { sum: sum + reward, count: count + 1 });
  }

  private metric(): LogTotals['metric'] {
    const means = [...this.rewards.values()].map(({ sum, count }) => sum / count);
    const mean = meanOf(means)?.mean ?? NaN;
    if (Math.abs(mean - this.result.score) > ROUNDING) return 'score';
    return this.isBinary ? 'accuracy' : 'mean';
  }

  /** Results of other programs may name two examples alike. */
  private freeId(trajectory: StoredTrajectory): string {
    const [base, epoch] = [sampleIdOf(trajectory), epochOf(trajectory)];
    let id = base;
    for (let count = 2; this.used.has(`${id} ${epoch}`); count++) id = `${base}#${count}`;
    this.used.add(`${id} ${epoch}`);
    return id;
  }
}
