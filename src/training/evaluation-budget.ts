import { join } from 'node:path';
import { dollarsOf } from '../core/controls/budget';
import { DomainError } from '../core/errors';
import { largestOf } from '../core/extremes';
import type { Sampler, SampleRequest, SampleResult } from '../core/sampling';
import type { SampledTokens, SamplingPrices } from '../core/sampling-cost';
import { costOfSampling, NOTHING_SAMPLED, plusTokens } from '../core/sampling-cost';
import type { EvaluationBudget } from '../core/schedules/evaluation-schedule';
import type { Journal } from '../stores/fenced-journal';
import { openJournal } from '../stores/fenced-journal';

/** What one answer may take at most, and then what it took; rows of `journal/spent.jsonl` of a cell. */
interface SpentRow extends SampledTokens {
  /** Counts the requests of all attempts, from 1. */
  readonly answer: number;
  /** The request is about to be sent. */
  readonly isReserved?: true;
}

/** Nothing was drawn for a request that ends so; of any other end nobody knows. */
const NOT_DRAWN: readonly string[] = [
  ...['unreachable', 'engine-busy', 'engine-refused', 'unauthorized', 'payment-required'],
  ...['request-failed', 'context-overflow', 'checkpoint-missing'],
];

/**
 * Holds an evaluator to its tokens and dollars: what a request may take at most is reserved before it is sent, and settled
 * when its answer is there. A request that does not fit waits for those under way; where there are none, the budget is used up
 * and `signal` ends the evaluator with the reason. Both are journalled: what earlier attempts spent is counted, and what they
 * had reserved when they died, since it was drawn all the same. Answers of their journals cost nothing again.
 */
export class EvaluationAllowance {
  private readonly ending = new AbortController();
  private spent: SampledTokens;
  private answerCount: number;
  private reserved = NOTHING_SAMPLED;
  private waiting: (() => void)[] = [];

  private constructor(
    private readonly budget: EvaluationBudget,
    private readonly prices: SamplingPrices | null,
    /** Of the cell, for all attempts. */
    private readonly journal: Journal<SpentRow>,
  ) {
    const settled = new Map<number, SampledTokens>();
    for (const row of journal.rows())
      if (!(row.isReserved && settled.has(row.answer))) settled.set(row.answer, row);
    this.spent = [...settled.values()].reduce(plusTokens, NOTHING_SAMPLED);
    this.answerCount = largestOf([0, ...settled.keys()]);
  }

  static async open(
    { folder, epoch }: { readonly folder: string; readonly epoch: number },
    budget: EvaluationBudget,
    prices: SamplingPrices | null,
  ): Promise<EvaluationAllowance> {
    const path = join(folder, 'journal', 'spent.jsonl');
    const journal = await openJournal<SpentRow>({ path, epoch, keyOf });
    return new EvaluationAllowance(budget, prices, journal);
  }

  close(): Promise<void> {
    return this.journal.close();
  }

  /** Of all attempts, with what those had under way that died. */
  get spentTokens(): SampledTokens {
    return this.spent;
  }

  get signal(): AbortSignal {
    return this.ending.signal;
  }

  limit(sampler: Sampler): Sampler {
    return { sample: (request, options) => this.sample(sampler, request, options) };
  }

  private async sample(
    sampler: Sampler,
    request: SampleRequest,
    options?: { readonly signal?: AbortSignal },
  ): Promise<SampleResult> {
    const most = { prompt: request.prompt.length, sampled: request.numSamples * request.params.maxTokens };
    await this.reserve(most);
    const answer = ++this.answerCount;
    let spent = most;
    try {
      await this.journal.appendWhenRoom({ answer, isReserved: true, ...most }, options);
      const result = await sampler.sample(request, options);
      const sampled = result.sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
      spent = { prompt: most.prompt, sampled };
      return result;
    } catch (error) {
      if (error instanceof DomainError && NOT_DRAWN.includes(error.code)) spent = NOTHING_SAMPLED;
      throw error;
    } finally {
      this.settle(most, spent);
      if (spent !== most) await this.journal.appendWhenRoom({ answer, ...spent }, options);
    }
  }

  private settle(most: SampledTokens, spent: SampledTokens): void {
    this.spent = plusTokens(this.spent, spent);
    this.reserved = plusTokens(this.reserved, { prompt: -most.prompt, sampled: -most.sampled });
    for (const wake of this.waiting.splice(0)) wake();
  }

  private async reserve(most: SampledTokens): Promise<void> {
    while (!this.fits(plusTokens(this.spent, plusTokens(this.reserved, most)))) {
      this.signal.throwIfAborted();
      if (this.reserved.prompt === 0 && this.reserved.sampled === 0) this.end();
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    this.signal.throwIfAborted();
    this.reserved = plusTokens(this.reserved, most);
  }

  private fits(amount: SampledTokens): boolean {
    const { tokens = Infinity, dollars = Infinity } = this.budget;
    return amount.prompt + amount.sampled <= tokens && this.costOf(amount) <= dollars;
  }

  private costOf(amount: SampledTokens): number {
    return costOfSampling(amount, this.prices);
  }

  private end(): never {
    const { tokens, dollars } = this.budget;
    const used = [
      ...(tokens === undefined ? [] : [`${this.spent.prompt + this.spent.sampled} of ${tokens} tokens`]),
      ...(dollars === undefined ? [] : [dollarsOf(this.costOf(this.spent), dollars)]),
    ];
    const reason = new DomainError(
      'over-budget',
      `the next answer, of up to maxTokens, would not fit its budget: ${used.join(' and ')} used`,
    );
    this.ending.abort(reason);
    throw reason;
  }
}

/** What was reserved and what was settled are two rows. */
function keyOf({ answer, isReserved }: SpentRow): string {
  return `${answer}${isReserved ? ' reserved' : ''}`;
}
