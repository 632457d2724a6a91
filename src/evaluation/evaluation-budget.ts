import type { TellWaiting } from '../core/concurrency/waiting-reasons';
import { DomainError } from '../core/errors';
import { largestOf } from '../core/extremes';
import type { Sampler, SampleRequest, SampleResult } from '../core/sampling';
import type { SampledTokens, SamplingPrices } from '../core/sampling-cost';
import { NOTHING_SAMPLED } from '../core/sampling-cost';
import type { Journal } from '../stores/fenced-journal';
import { openJournal } from '../stores/fenced-journal';
import type { AnswerBudget, BudgetTerms } from './budget-words';
import { fitsBudget, whyNoMore } from './budget-words';
import type { SpentAccount, SpentRow } from './spent-account';
import {
  accountOf,
  accountOfAnswer,
  asSpent,
  NO_ACCOUNT,
  NOTHING_SPENT,
  plusAccount,
  plusSpent,
  spentPath,
  withOverrun,
} from './spent-account';

interface OpenOptions {
  /** Takes the journal over. */
  readonly epoch: number;
  readonly folder: string;
  /** Of others who share the budget, and are done. */
  readonly elsewhere?: SpentAccount;
  /**
   * What an answer takes, somebody else counts: the first request is sent alone, and each answer lets one more be under way, so
   * that one who counts more than was asked for is found out early.
   */
  readonly isCountedElsewhere?: boolean;
  /** Hears that what is reserved and spent waits for room. */
  readonly onWaiting?: TellWaiting | undefined;
}

/** What a request may take at most, and how it is made. */
interface Held<Result> {
  readonly most: SampledTokens;
  readonly signal: AbortSignal | undefined;
  readonly ask: (
    reserved: SampledTokens,
  ) => Promise<{ readonly result: Result; readonly spent: SampledTokens }>;
}

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
 *
 * Where an answer took more than it was asked for, as much more is reserved for those after it: what passes the budget is what
 * was under way when that was first seen.
 */
export class EvaluationAllowance {
  private readonly ending = new AbortController();
  private answerCount: number;
  private reserved = NOTHING_SPENT;
  private waiting: (() => void)[] = [];

  private constructor(
    private readonly terms: BudgetTerms & { readonly isPaced: boolean },
    /** Of the cell, for all attempts. */
    private readonly journal: Journal<SpentRow>,
    private account: SpentAccount,
  ) {
    this.answerCount = largestOf([0, ...journal.rows().map(({ answer }) => answer)]);
  }

  static async open(
    { folder, epoch, elsewhere = NO_ACCOUNT, isCountedElsewhere = false, onWaiting }: OpenOptions,
    budget: AnswerBudget,
    prices: SamplingPrices | null,
  ): Promise<EvaluationAllowance> {
    const journal = await openJournal<SpentRow>({ path: spentPath(folder), epoch, keyOf, onWaiting });
    const isPaced = isCountedElsewhere && (budget.tokens ?? budget.dollars) !== undefined;
    const account = plusAccount(accountOf(journal.rows()), elsewhere);
    return new EvaluationAllowance({ budget, prices, isPaced }, journal, account);
  }

  close(): Promise<void> {
    return this.journal.close();
  }

  /** Of all attempts, with what those had under way that died. */
  get spentTokens(): SampledTokens {
    const { prompt, sampled } = this.account.spent;
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
    const reserved = await this.reserve(most, signal);
    const answer = ++this.answerCount;
    const options = signal && { signal };
    let spent = reserved;
    try {
      const asked = reserved === most ? {} : { asked: most };
      await this.journal.appendWhenRoom({ answer, isReserved: true, ...reserved, ...asked }, options);
      const answered = await ask(reserved);
      spent = answered.spent;
      return answered.result;
    } catch (error) {
      if (error instanceof DomainError && NOT_DRAWN.includes(error.code)) spent = NOTHING_SAMPLED;
      throw error;
    } finally {
      const isKnown = spent !== reserved;
      this.settle(
        reserved,
        isKnown ? accountOfAnswer(most, spent) : { ...NO_ACCOUNT, spent: asSpent(spent) },
      );
      if (isKnown) await this.journal.appendWhenRoom({ answer, ...spent }, options);
    }
  }

  private settle(most: SampledTokens, account: SpentAccount): void {
    this.account = plusAccount(this.account, account);
    const { prompt, sampled, requests } = asSpent(most);
    this.reserved = plusSpent(this.reserved, { prompt: -prompt, sampled: -sampled, requests: -requests });
    this.wakeAll();
  }

  private wakeAll(): void {
    for (const wake of this.waiting.splice(0)) wake();
  }

  private async reserve(asked: SampledTokens, signal: AbortSignal | undefined): Promise<SampledTokens> {
    for (;;) {
      this.signal.throwIfAborted();
      // What was called off while it waited is not sent.
      signal?.throwIfAborted();
      const most = withOverrun(asked, this.account.overrun);
      const reserved = plusSpent(this.reserved, asSpent(most));
      const isFitting = fitsBudget(this.terms, plusSpent(this.account.spent, reserved));
      if (isFitting && this.hasPlace()) {
        this.reserved = reserved;
        return most;
      }
      if (!isFitting && this.reserved.requests === 0) this.end();
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  private hasPlace(): boolean {
    return !this.terms.isPaced || this.reserved.requests <= this.account.answeredCount;
  }

  private end(): never {
    const reason = new DomainError('over-budget', whyNoMore(this.terms, this.account));
    this.ending.abort(reason);
    this.wakeAll();
    throw reason;
  }
}

/** What was reserved and what was settled are two rows. */
function keyOf({ answer, isReserved }: SpentRow): string {
  return `${answer}${isReserved ? ' reserved' : ''}`;
}
