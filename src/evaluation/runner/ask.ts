import { setTimeout as delay } from 'node:timers/promises';
import type { Completion, CompletionRequest } from '../../core/completion';
import { DomainError } from '../../core/errors';
import { GivenUpError } from '../../engines/openai/given-up';
import { messageOf } from '../error-message';
import { EXAMPLE_ATTEMPTS, isFault, isOfWholeCell, waitBefore } from '../evaluators/example-failures';
import type { ShardTask } from './shard-task';
import type { TimeBudget } from './time-budget';

export type Asked =
  | { readonly completion: Completion }
  | { readonly truncation: 'context_overflow' }
  | { readonly error: string };

export interface Asking extends Pick<ShardTask, 'completer'> {
  readonly budget: TimeBudget;
  readonly signal: AbortSignal;
}

/**
 * Asks for a completion, a few times where something fails in passing. What still fails is data: the example counts as an
 * error. Failures that are not the example's are thrown.
 */
export async function ask(asking: Asking, request: CompletionRequest): Promise<Asked> {
  const { completer, budget, signal } = asking;
  for (let attempt = 1; ; attempt++) {
    try {
      const completion = await completer.complete(request, { signal, timeoutMs: budget.leftMs() });
      budget.spend(completion.seconds * 1000);
      return { completion };
    } catch (error) {
      signal.throwIfAborted();
      const outcome = outcomeOf(error, attempt, budget);
      if (outcome) return outcome;
    }
    await delay(waitBefore(attempt), undefined, { signal });
  }
}

/** null where it is worth another try. */
function outcomeOf(error: unknown, attempt: number, budget: TimeBudget): Asked | null {
  if (error instanceof DomainError && error.code === 'context-overflow')
    return { truncation: 'context_overflow' };
  if (error instanceof DomainError && error.code === 'timed-out') return { error: budget.timeoutText };
  if (isOfWholeCell(error)) throw error;
  const isLast = attempt >= EXAMPLE_ATTEMPTS || isFault(error) || error instanceof GivenUpError;
  return isLast ? { error: messageOf(error) } : null;
}
