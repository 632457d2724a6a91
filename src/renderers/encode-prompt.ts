import { DomainError } from '../core/errors';
import type { Tokenizer } from '../core/tokenizer';
import { inTurns, TooManyTokens } from '../core/tokenizer';

interface PromptReader {
  readonly tokenizer: Tokenizer;
  /** Tokens read and written together; null where nobody knows. */
  readonly contextLength: number | null;
}

/** Does work that turns what was asked into tokens, while others are answered. What cannot fit is refused before it is encoded. */
export async function encodePrompt<Result>(
  { tokenizer, contextLength }: PromptReader,
  work: () => Result,
  signal?: AbortSignal,
): Promise<Result> {
  const limits = { ...(signal && { signal }), ...(contextLength !== null && { mostTokens: contextLength }) };
  return inTurns(tokenizer, work, limits).catch((error: unknown) => {
    throw error instanceof TooManyTokens
      ? contextOverflow(`at least ${error.leastTokens}`, contextLength)
      : error;
  });
}

export function contextOverflow(tokens: string, contextLength: number | null): DomainError {
  return new DomainError(
    'context-overflow',
    `The prompt has ${tokens} tokens and the context ${contextLength ?? 0}: no room for a completion.`,
  );
}
