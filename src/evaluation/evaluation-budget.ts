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
export interface SpentRow extends SampledTokens {
  /** Counts the requests of all attempts, from 1. */
  readonly answer: number;
  /** The request is about to be sent. */
  readonly isReserved?: true;
}

/** What is held to a budget: tokens of prompts and answers, their dollars, and how many answers. */
export type AnswerBudget = Pick<EvaluationBudget, 'tokens' | 'dollars'> & { readonly requests?: number };

interface OpenOptions {
  /** Takes the journal over. */
  readonly epoch: number;
  readonly folder: string;
  /** Spent by others who share the budget, and are done. */
  readonly elsewhere?: Spent;
}

export interface Spent extends SampledTokens {
  readonly requests: number;
}

/** What a request may take at most, and how it is made. */
interface Held<Result> {
  readonly most: SampledTokens;
  readonly signal: AbortSignal | undefined;
  readonly ask: () => Promise<{ readonly result: Result; readonly spent: SampledTokens }>;
}

export const NOTHING_SPENT: Spent = { ...NOTHING_SAMPLED, requests: 0 };

/** Nothing was drawn for a request that ends so; of any other end nobody knows. */
const NOT_DRAWN: readonly string[] = [
  ...['unreachable', 'engine-busy', 'engine-refused', 'unauthorized', 'payment-required'],
  ...['request-failed', 'context-overflow', 'checkpoint-missing', 'interrupted'],
];

/**
 * Holds an evaluator to its tokens and dollars: what a request may take at most is reserved before it is sent, and settled
 * when its answer is there. A request that does not fit waits for those under way; where there are none, the budget is used up
 * and `signal` ends the evaluator with the reason. Both are journalled: what earlier attempts spent is counted, and what they
 * had reserved when they died, since it was drawn all the same. Answers of their journals cost nothing again.
 */
export class EvaluationAllowance {
  private readonly ending = new AbortController();
  private spent: Spent;
  private answerCount: number;
  private reserved = NOTHING_SPENT;
  private waiting: (() => void)[] = [];

  private constructor(
    private readonly terms: { readonly budget: AnswerBudget; readonly prices: SamplingPrices | null },
    /** Of the cell, for all attempts. */
    private readonly journal: Journal<SpentRow>,
    elsewhere: Spent,
  ) {
    this.spent = plusSpent(spentOf(journal.rows()), elsewhere);
    this.answerCount = largestOf([0, ...journal.rows().map(({ answer }) => answer)]);
  }

  static async open(
    { folder, epoch, elsewhere = NOTHING_SPENT }: OpenOptions,
    budget: AnswerBudget,
    prices: SamplingPrices | null,
  ): Promise<EvaluationAllowance> {
    const journal = await openJournal<SpentRow>({ path: spentPath(folder), epoch, keyOf });
    return new EvaluationAllowance({ budget, prices }, journal, elsewhere);
  }

  close(): Promise<void> {
    return this.journal.close();
  }

  /** Of all attempts, with what those had under way that died. */
  get spentTokens(): SampledTokens {
    const { prompt, sampled } = this.spent;
    return { prompt, sampled };
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
    return this.hold({
      most: { prompt: request.prompt.length, sampled: request.numSamples * request.params.maxTokens },
      signal: options?.signal,
      ask: async () => {
        const result = await sampler.sample(request, options);
        const sampled = result.sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
        return { result, spent: { prompt: request.prompt.length, sampled } };
      },
    });
  }

  /** Asks once what it may take at most is reserved, and settles what it took. */
  async hold<Result>({ most, signal, ask }: Held<Result>): Promise<Result> {
    await this.reserve(most, signal);
    const answer = ++this.answerCount;
    const options = signal && { signal };
    let spent = most;
    try {
      await this.journal.appendWhenRoom({ answer, isReserved: true, ...most }, options);
      const asked = await ask();
      spent = asked.spent;
      return asked.result;
    } catch (error) {
      if (error instanceof DomainError && NOT_DRAWN.includes(error.code)) spent = NOTHING_SAMPLED;
      throw error;
    } finally {
      this.settle(most, spent);
      if (spent !== most) await this.journal.appendWhenRoom({ answer, ...spent }, options);
    }
  }

  private settle(most: SampledTokens, spent: SampledTokens): void {
    this.spent = plusSpent(this.spent, asSpent(spent));
    const { prompt, sampled, requests } = asSpent(most);
    this.reserved = plusSpent(this.reserved, { prompt: -prompt, sampled: -sampled, requests: -requests });
    this.wakeAll();
  }

  private wakeAll(): void {
    for (const wake of this.waiting.splice(0)) wake();
  }

  private async reserve(tokens: SampledTokens, signal: AbortSignal | undefined): Promise<void> {
    const most = asSpent(tokens);
    while (!this.fits(plusSpent(this.spent, plusSpent(this.reserved, most)))) {
      this.signal.throwIfAborted();
      if (this.reserved.requests === 0) this.end();
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
    this.signal.throwIfAborted();
    // What was called off while it waited is not sent.
    signal?.throwIfAborted();
    this.reserved = plusSpent(this.reserved, most);
  }

  private fits(amount: Spent): boolean {
    const { tokens = Infinity, dollars = Infinity, requests = Infinity } = this.terms.budget;
    const isWithinTokens = amount.prompt + amount.sampled <= tokens && this.costOf(amount) <= dollars;
    return isWithinTokens && amount.requests <= requests;
  }

  private costOf(amount: SampledTokens): number {
    return costOfSampling(amount, this.terms.prices);
  }

  private end(): never {
    const { tokens, dollars, requests } = this.terms.budget;
    const used = [
      ...(requests === undefined ? [] : [`${this.spent.requests} of ${requests} requests`]),
      ...(tokens === undefined ? [] : [`${this.spent.prompt + this.spent.sampled} of ${tokens} tokens`]),
      ...(dollars === undefined ? [] : [dollarsOf(this.costOf(this.spent), dollars)]),
    ];
    const reason = new DomainError(
      'over-budget',
      `the next answer, of up to maxTokens, would not fit its budget: ${used.join(' and ')} used`,
    );
    this.ending.abort(reason);
    this.wakeAll();
    throw reason;
  }
}

/** What was reserved and what was settled are two rows. */
function keyOf({ answer, isReserved }: SpentRow): string {
  return `${answer}${isReserved ? ' reserved' : ''}`;
}

/** Rows of a journal, in any order: what was settled stands for what was reserved. A refused request took nothing. */
export function spentOf(rows: readonly SpentRow[]): Spent {
  const settled = new Map<number, SampledTokens>();
  for (const row of rows) if (!(row.isReserved && settled.has(row.answer))) settled.set(row.answer, row);
  return [...settled.values()].map(asSpent).reduce(plusSpent, NOTHING_SPENT);
}

export function plusSpent(one: Spent, other: Spent): Spent {
  return { ...plusTokens(one, other), requests: one.requests + other.requests };
}

export function spentPath(folder: string): string {
  return join(folder, 'journal', 'spent.jsonl');
}

function asSpent({ prompt, sampled }: SampledTokens): Spent {
  return { prompt, sampled, requests: prompt + sampled > 0 ? 1 : 0 };
}
