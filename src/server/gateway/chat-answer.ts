import { randomUUID } from 'node:crypto';
import type { ToolDeclaration } from '../../core/completion';
import type { Message } from '../../core/conversation';
import type { Tokenizer } from '../../core/tokenizer';
import { textOf, thinkingOf } from '../../renderers/message-text';
import type { Renderer } from '../../renderers/renderer';
import type { AnsweredMessage, ChatAnswer, FinishReason } from './chat-schemas';
import type { DrawnChoice } from './draw';
import { contentLogprobs } from './token-logprobs';

export type ChatChoice = ChatAnswer['choices'][number];

interface ReadOptions {
  readonly index: number;
  readonly renderer: Renderer;
  readonly tokenizer: Tokenizer;
  readonly wantsLogprobs: boolean;
  /** What the model was told of. */
  readonly tools?: readonly ToolDeclaration[];
  /** Only the first call is given, as clients ask for with `parallel_tool_calls: false`. */
  readonly isOneCall?: boolean;
}

/** One choice of a chat completion as clients read it. */
export function readChoice(choice: DrawnChoice, options: ReadOptions): ChatChoice {
  const { renderer, tokenizer, index, wantsLogprobs, tools, isOneCall = false } = options;
  const parsed = renderer.parseCompletion(tokensOf(choice, options), tools);
  const unread = (parsed.unparsedToolCalls ?? []).map(({ rawText }) => rawText).join('');
  const { toolCalls = [] } = parsed.message;
  const given = isOneCall ? toolCalls.slice(0, 1) : toolCalls;
  const message = answerOf({ ...parsed.message, toolCalls: given }, unread);
  return {
    index,
    message,
    logprobs: wantsLogprobs ? { content: contentLogprobs(choice, tokenizer), refusal: null } : null,
    finish_reason: finishOf(choice, message),
  };
}

/**
 * The completion as the renderer knows it: ended by its own stop also where a text of the client's ended it, so that reasoning
 * and calls before the stop are told apart.
 */
function tokensOf(
  { tokens, rest, isCut, endToken }: DrawnChoice,
  { renderer, tokenizer }: ReadOptions,
): number[] {
  const spoken = rest === '' ? tokens : [...tokens, ...tokenizer.encode(rest)];
  if (!isCut) return endToken === null ? [...spoken] : [...spoken, endToken];
  const [own] = renderer.stopSequences();
  if (own === undefined) return [...spoken];
  return [...spoken, ...(typeof own === 'number' ? [own] : tokenizer.encode(own, { allowSpecial: true }))];
}

function answerOf(message: Message, unread: string): AnsweredMessage {
  const text = textOf(message);
  const thinking = thinkingOf(message);
  const calls = (message.toolCalls ?? []).map((call) => ({
    id: call.id ?? `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
    type: 'function' as const,
    function: { name: call.name, arguments: call.arguments },
  }));
  // A call that cannot be read is shown as it was written, never dropped.
  const content = unread !== '' && !text.includes(unread) ? text + unread : text;
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    refusal: null,
    ...(thinking !== '' && { reasoning_content: thinking }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function finishOf({ finish }: DrawnChoice, { tool_calls: calls }: AnsweredMessage): FinishReason {
  return finish === 'stop' && calls ? 'tool_calls' : finish;
}
