import { encodeText, specialId } from './tokenizer';
import type { Datum } from '../../src/core/datum';
import type { CorpusConversation } from './corpus';

/** Tokens as the chat template writes them, and which of them the assistant says. */
export function tokenizeConversation({ system, exchanges }: CorpusConversation): {
  readonly tokens: number[];
  readonly isAnswer: boolean[];
} {
  const tokens: number[] = [];
  const isAnswer: boolean[] = [];
  const append = (role: '<|system|>' | '<|user|>' | '<|assistant|>', content: string): void => {
    const body = [...encodeText(content), specialId('<|end|>')];
    tokens.push(specialId(role), ...body);
    isAnswer.push(false, ...body.map(() => role === '<|assistant|>'));
  };
  if (system !== null) append('<|system|>', system);
  for (const { user, assistant } of exchanges) {
    append('<|user|>', user);
    append('<|assistant|>', assistant);
  }
  return { tokens, isAnswer };
}

export function tokenizePrompt(user: string): number[] {
  return [specialId('<|user|>'), ...encodeText(user), specialId('<|end|>'), specialId('<|assistant|>')];
}

/** Answers weigh 1, all else `otherWeight`; the weights of a batch sum to 1. */
export function toBatch(conversations: readonly CorpusConversation[], otherWeight: number): Datum[] {
  const tokenized = conversations.map(tokenizeConversation);
  const weightsOf = (isAnswer: readonly boolean[]) =>
    isAnswer.slice(1).map((answer) => (answer ? 1 : otherWeight));
  const total = tokenized
    .flatMap(({ isAnswer }) => weightsOf(isAnswer))
    .reduce((sum, weight) => sum + weight, 0);
  return tokenized.map(({ tokens, isAnswer }) => ({
    tokens: Int32Array.from(tokens.slice(0, -1)),
    targetTokens: Int32Array.from(tokens.slice(1)),
    lossInputs: { weights: Float32Array.from(weightsOf(isAnswer), (weight) => weight / total) },
  }));
}
