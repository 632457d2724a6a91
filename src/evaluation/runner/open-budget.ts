import type { AskingBudget, BenchmarkPlace } from '../../core/benchmark-run';
import type { Completer, CompletionRequest } from '../../core/completion';
import { readJsonLines } from '../../stores/json-lines';
import type { Spent, SpentRow } from '../evaluation-budget';
import { EvaluationAllowance, NOTHING_SPENT, plusSpent, spentOf, spentPath } from '../evaluation-budget';
import type { BenchmarkPlan } from './benchmark-plan';
import { shardFolder } from './benchmark-plan';

export type BudgetedCompleter = Completer;

interface BudgetSite {
  readonly budget: AskingBudget;
  readonly plan: Pick<BenchmarkPlan, 'shards'>;
  readonly epoch: number;
  readonly completer: Completer;
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
  { budget, plan, epoch, completer }: BudgetSite,
): Promise<BudgetedCompleter> {
  const { tokens, requests, dollars, dollarsPerMillionTokens: price } = budget;
  const others = [...plan.shards.keys()].filter((shard) => shard !== place.shard);
  const spent = await Promise.all(others.map((shard) => spentIn(shardFolder(place, shard))));
  const allowance = await EvaluationAllowance.open(
    { folder: shardFolder(place, place.shard), epoch, elsewhere: spent.reduce(plusSpent, NOTHING_SPENT) },
    {
      ...(tokens !== undefined && { tokens }),
      ...(requests !== undefined && { requests }),
      ...(dollars !== undefined && { dollars }),
    },
    price === undefined ? null : { prefill: price, sampling: price },
  );
  return {
    complete: (request, options) => {
      const most = { prompt: promptTokensAtMost(request), sampled: request.params.maxTokens };
      return allowance.hold({
        most,
        signal: options?.signal,
        ask: async () => {
          const result = await completer.complete(request, options);
          const { promptTokenCount, completionTokenCount } = result;
          // Where the service does not say, what was reserved counts.
          const taken = {
            prompt: promptTokenCount ?? most.prompt,
            sampled: completionTokenCount ?? most.sampled,
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

/** No token is shorter than a byte, but for those a template writes around messages. */
function promptTokensAtMost({ messages, tools = [] }: CompletionRequest): number {
  const bytes = Buffer.byteLength(JSON.stringify(messages)) + Buffer.byteLength(JSON.stringify(tools));
  return bytes + messages.length * TOKENS_AROUND_A_MESSAGE + TOKENS_AROUND_ALL;
}

async function spentIn(folder: string): Promise<Spent> {
  return spentOf(await readJsonLines<SpentRow>(spentPath(folder)));
}
