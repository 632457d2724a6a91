import type { AskingBudget, BenchmarkPlace } from '../../core/benchmark-run';
import type { TellWaiting } from '../../core/concurrency/waiting-reasons';
import type { Completer, CompletionRequest } from '../../core/completion';
import type { BudgetTerms } from '../budget-words';
import { passedText } from '../budget-words';
import { EvaluationAllowance } from '../evaluation-budget';
import type { SpentAccount } from '../spent-account';
import { NO_ACCOUNT, plusAccount, readAccount } from '../spent-account';
import type { BenchmarkPlan } from './benchmark-plan';
import { shardFolder } from './benchmark-plan';

export type BudgetedCompleter = Completer;

interface BudgetSite {
  readonly budget: AskingBudget;
  readonly plan: Pick<BenchmarkPlan, 'shards'>;
  readonly epoch: number;
  readonly completer: Completer;
  /** Hears that what is reserved and spent waits for room. */
  readonly onWaiting?: TellWaiting;
}

/** What a chat template writes around a message, and around all of them. */
const TOKENS_AROUND_A_MESSAGE = 16;
const TOKENS_AROUND_ALL = 64;

/**
 * Holds a shard to what the others left of the benchmark's budget: `shard-<n>/journal/spent.jsonl` keeps what requests may take
 * before they are sent, and what they took. Throws `over-budget` where the next one does not fit and none is under way. Shards of
 * one budget have to run one after another. Closes the completer with it.
 */
export async function openBudget(
  place: BenchmarkPlace & { readonly shard: number },
  { budget, plan, epoch, completer, onWaiting }: BudgetSite,
): Promise<BudgetedCompleter> {
  const others = [...plan.shards.keys()].filter((shard) => shard !== place.shard);
  const { budget: limits, prices } = termsOf(budget);
  const allowance = await EvaluationAllowance.open(
    {
      folder: shardFolder(place, place.shard),
      epoch,
      elsewhere: await accountOfShards(place, others),
      isCountedElsewhere: true,
      onWaiting,
    },
    limits,
    prices,
  );
  return {
    complete: (request, options) => {
      const most = { prompt: promptTokensAtMost(request), sampled: request.params.maxTokens };
      return allowance.hold({
        most,
        signal: options?.signal,
        ask: async (reserved) => {
          const result = await completer.complete(request, options);
          const { promptTokenCount, completionTokenCount } = result;
          // Where the service does not say, what was reserved counts.
          const taken = {
            prompt: promptTokenCount ?? reserved.prompt,
            sampled: completionTokenCount ?? reserved.sampled,
          };
          return { result, spent: taken };
        },
      });
    },
    async close() {
      await completer.close();
      await allowance.close();
    },
  };
}

/** That a benchmark took more than its budget, in words; null where it did not. */
export async function overBudgetText(
  place: BenchmarkPlace,
  { budget, plan }: Pick<BudgetSite, 'budget' | 'plan'>,
): Promise<string | null> {
  return passedText(termsOf(budget), await accountOfShards(place, [...plan.shards.keys()]));
}

/** No token is shorter than a byte, but for those a template writes around messages. */
function promptTokensAtMost({ messages, tools = [] }: CompletionRequest): number {
  const bytes = Buffer.byteLength(JSON.stringify(messages)) + Buffer.byteLength(JSON.stringify(tools));
  return bytes + messages.length * TOKENS_AROUND_A_MESSAGE + TOKENS_AROUND_ALL;
}

async function accountOfShards(place: BenchmarkPlace, shards: readonly number[]): Promise<SpentAccount> {
  const accounts = await Promise.all(shards.map((shard) => readAccount(shardFolder(place, shard))));
  return accounts.reduce(plusAccount, NO_ACCOUNT);
}

function termsOf({ tokens, requests, dollars, dollarsPerMillionTokens: price }: AskingBudget): BudgetTerms {
  return {
    budget: {
      ...(tokens !== undefined && { tokens }),
      ...(requests !== undefined && { requests }),
      ...(dollars !== undefined && { dollars }),
    },
    prices: price === undefined ? null : { prefill: price, sampling: price },
  };
}
