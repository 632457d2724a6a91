import type { ToolDeclaration } from '../core/completion';
import type { Message } from '../core/conversation';
import type { ParsedReply } from './renderer';

/**
 * A stretch of a rendered message. A plain string is layout, in which the format's control tokens are recognised;
 * `written` is what people and models wrote, in which `<|end|>` is seven letters and can forge no turn.
 */
export type Piece = string | WrittenPiece;

interface WrittenPiece {
  readonly written: string;
  /** It has tokens of its own, whatever follows: a prompt ends with it. */
  readonly isAlone?: boolean;
}

/** Where a message stands in its conversation. */
export interface MessagePlace {
  readonly index: number;
  readonly isLast: boolean;
  /** Whether the conversation is a prompt, which a reply follows. */
  readonly isInPrompt: boolean;
  readonly previous: Message | null;
  readonly next: Message | null;
  /** Index of the last user message; -1 where there is none. */
  readonly lastUserIndex: number;
  /** Whether the message belongs to the turn that is being produced rather than to history. */
  readonly isInLastTurn: boolean;
}

export interface RenderedMessage {
  /** Who speaks, and whatever else the model never says itself; carries loss in `allTokens` only. */
  readonly header: readonly Piece[];
  readonly body: readonly Piece[];
  /** Rest of a stop sequence that reaches into the next message's header; written after the last message only. */
  readonly stopOverlap?: string;
}

/** How one family of models writes messages; `createMessageRenderer` makes a renderer of it. */
export interface MessageFormat {
  readonly name: string;
  /** Special token before the first message; empty where there is none. */
  readonly bosText: string;
  readonly hasExtensionProperty: boolean;
  /** What ends a reply: one of some special tokens, or a text. */
  readonly stop: { readonly tokens: readonly string[] } | { readonly text: string };
  /** Tokens without which the tokenizer does not fit the format. */
  readonly controlTokens: readonly string[];
  /** The prompt closes the reasoning block, so that a reply that reasons cannot be trained. */
  readonly refusesReasoning?: boolean;
  /** A tool's answer is written with the id of its call; else answers are put into the order of the calls. */
  readonly writesCallIds?: boolean;
  /** Roles beside system, user, assistant and tool that only some models know. */
  readonly ownRoles?: readonly string[];
  /** Adds or changes messages the way the model's template does, such as a system message where there is none. */
  prepareMessages?(messages: readonly Message[]): readonly Message[];
  /** Index of the first message of the turn that is being produced; default: the one after the last user message. */
  turnStart?(messages: readonly Message[]): number;
  renderMessage(message: Message, place: MessagePlace): RenderedMessage;
  /** Opens the reply after the messages of a prompt. */
  openReply(messages: readonly Message[]): string;
  /** Reads the text of a reply that ended cleanly. */
  parseReply(text: string, tools?: readonly ToolDeclaration[]): Omit<ParsedReply, 'termination'>;
  /** Declarations are written with whatever else a tool has, as `tojson` writes it. */
  readonly writesWholeTools?: boolean;
  /** Messages that declare tools; absent where the format has none. */
  declareTools?(tools: readonly ToolDeclaration[], systemPrompt: string): Message[];
  /** Takes off what the layout puts around content, also where a reply was cut off. */
  trimReply?(text: string): string;
}

export function written(text: string): Piece {
  return { written: text };
}

/** What a prompt ends with, where a reply has it too. */
export function writtenAlone(text: string): Piece {
  return { written: text, isAlone: true };
}
