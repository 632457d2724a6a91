import type { ToolDeclaration } from '../core/completion';
import type {
  Message,
  ParsedCompletion,
  RenderedExample,
  TemplateArguments,
  TrainOnWhat,
} from '../core/conversation';

export interface GenerationPromptOptions {
  /** Text the completion is made to begin with; it is part of the prompt. */
  readonly prefill?: string;
}

/** A block that was meant as a tool call and could not be read as one. */
export interface UnparsedToolCall {
  readonly rawText: string;
  readonly reason: string;
}

export interface ParsedReply extends ParsedCompletion {
  readonly unparsedToolCalls?: readonly UnparsedToolCall[];
}

/**
 * Turns conversations into the tokens one family of models was trained on, and completions back into messages.
 *
 * Pure: the same messages give the same tokens on every call.
 */
export interface Renderer {
  readonly name: string;
  /** What its template is given beside the conversation; absent where it is nothing. */
  readonly templateArguments?: TemplateArguments;
  /**
   * Whether the prompt of each turn is a prefix of the next turn's, so that one sequence can train every turn.
   * False where reasoning is dropped from history.
   */
  readonly hasExtensionProperty: boolean;
  /** A call is written by its id, which names the tool only where it was made to (Kimi). */
  readonly writesCallIds?: boolean;
  buildGenerationPrompt(messages: readonly Message[], options?: GenerationPromptOptions): number[];
  buildSupervisedExample(messages: readonly Message[], trainOnWhat: TrainOnWhat): RenderedExample;
  /**
   * Never throws on what a model wrote: what cannot be read is `malformed`. In formats whose calls do not tell texts from
   * other values, the declared types of `tools` do.
   */
  parseCompletion(tokens: readonly number[], tools?: readonly ToolDeclaration[]): ParsedReply;
  /**
   * Messages that tell the model of its tools and carry the system prompt; they go before the conversation.
   * Refused where the format has no tools.
   */
  declareTools(tools: readonly ToolDeclaration[], systemPrompt: string): Message[];
  /** What to pass as `stop` when sampling: token ids or texts. */
  stopSequences(): readonly string[] | readonly number[];
}
