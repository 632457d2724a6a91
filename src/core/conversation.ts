/** Conversations as the field writes them (`{"messages": [...]}`), and what a renderer makes of them. */

export interface ToolCall {
  readonly id?: string;
  readonly name: string;
  /** JSON text of the arguments, exactly as the model wrote it. */
  readonly arguments: string;
}

export type ContentPart =
  { readonly type: 'text'; readonly text: string } | { readonly type: 'thinking'; readonly thinking: string };

export interface Message {
  readonly role: 'system' | 'user' | 'assistant' | 'tool' | (string & {});
  readonly content: string | readonly ContentPart[];
  readonly name?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly toolCallId?: string;
  /** Only for `trainOnWhat: customized`. */
  readonly trainable?: boolean;
}

/** Which tokens of a conversation carry loss. The field's names in camelCase. */
export const TRAIN_ON_WHAT = [
  'lastAssistantMessage',
  'lastAssistantTurn',
  'allAssistantMessages',
  'allMessages',
  'allTokens',
  'allUserAndSystemMessages',
  'customized',
] as const;
export type TrainOnWhat = (typeof TRAIN_ON_WHAT)[number];

/** Variables of a chat template that are not of the conversation: `enable_thinking`, `reasoning_effort`. Plain JSON. */
export type TemplateArguments = Readonly<Record<string, unknown>>;

/** Tokens and their loss weights, both of length N. */
export interface RenderedExample {
  readonly tokens: readonly number[];
  readonly weights: readonly number[];
}

/** How a completion ended: at the renderer's stop sequence, at end-of-text, or neither (cut off, doubled stop). */
export type Termination = 'stop_sequence' | 'eos' | 'malformed';

export interface ParsedCompletion {
  readonly message: Message;
  readonly termination: Termination;
}
