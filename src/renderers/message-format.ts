import type { Message } from '../core/conversation';
import type { ParsedReply, ToolDeclaration } from './renderer';

/** Where a message stands in its conversation. */
export interface MessagePlace {
  readonly index: number;
  readonly isLast: boolean;
  /** Whether the conversation holds a user message at all. */
  readonly hasUserMessage: boolean;
}

/**
 * One message as text. `header` and `end` are layout, in which special tokens are recognised; `content` is what people
 * and models wrote, in which `<|end|>` is seven letters and can forge no turn.
 */
export interface RenderedMessage {
  readonly header: string;
  readonly content: string;
  readonly end: string;
  /** Rest of a stop sequence that reaches into the next message's header; written after the last message only. */
  readonly stopOverlap?: string;
}

/** How one family of models writes messages; `createMessageRenderer` makes a renderer of it. */
export interface MessageFormat {
  readonly name: string;
  /** Special token before the first message; empty where there is none. */
  readonly bosText: string;
  readonly hasExtensionProperty: boolean;
  /** What ends a reply: one special token, or a text. */
  readonly stop: { readonly token: string } | { readonly text: string };
  /** Special tokens without which the tokenizer does not fit the format. */
  readonly requiredTokens: readonly string[];
  /** The prompt closes the reasoning block, so that a reply that reasons cannot be trained. */
  readonly refusesReasoning?: boolean;
  renderMessage(message: Message, place: MessagePlace): RenderedMessage;
  /** Opens the reply; `index` is the number of messages before it. */
  renderReplyHeader(index: number): string;
  /** Reads the text of a reply that ended cleanly. */
  parseReply(text: string): Omit<ParsedReply, 'termination'>;
  /** System message that declares tools; absent where the format has none. */
  declareTools?(tools: readonly ToolDeclaration[], systemPrompt: string): string;
  /** Takes off what the layout puts around content, also where a reply was cut off. */
  trimReply?(text: string): string;
}
