import type { Message } from './conversation';

/** How a completion is drawn, by the field's names. */
export interface CompletionParams {
  readonly maxTokens: number;
  /** 0 is greedy. */
  readonly temperature: number;
  readonly topP: number;
  readonly seed?: number;
  /** Texts that end the completion beside the model's own end of turn. */
  readonly stop?: readonly string[];
}

/** A function the model may call; `parameters` is a JSON schema. */
export interface ToolDeclaration {
  readonly name: string;
  /** Absent where nobody describes it: templates write what a declaration has. */
  readonly description?: string;
  /** JSON schema; absent where none is declared, for a tool that takes nothing. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

export interface CompletionRequest {
  /** The conversation up to the completion that is asked for. */
  readonly messages: readonly Message[];
  readonly params: CompletionParams;
  readonly tools?: readonly ToolDeclaration[];
}

/** `length`: cut off at `maxTokens`, or by the end of the context. */
export type CompletionStop = 'stop' | 'length' | 'content_filter';

export interface Completion {
  /** What the model said, as a message; its reasoning is a `thinking` part where the service tells it apart. */
  readonly message: Message;
  /** All the model wrote as text, reasoning and special tokens included where the service gives them. */
  readonly rawText: string;
  readonly stopReason: CompletionStop;
  /** The reply did not follow its format: a tool call that cannot be read, or no end of turn where one belongs. */
  readonly isMalformed?: boolean;
  /** The service says that the model declined to answer; the message holds its words. */
  readonly isRefusal?: true;
  /** null where the service does not say. */
  readonly promptTokenCount: number | null;
  readonly completionTokenCount: number | null;
  /** From sending the request to its answer; waiting for capacity does not count. */
  readonly seconds: number;
  /** Absent where the service speaks text. */
  readonly tokens?: { readonly prompt: readonly number[]; readonly completion: readonly number[] };
}

export interface CompletionOptions {
  readonly signal?: AbortSignal;
  /** Bounds the time from sending the request; waiting for capacity does not count. */
  readonly timeoutMs?: number;
  /** Told what keeps the completion waiting while nothing else is answered either; null when it goes on. */
  readonly onWaiting?: (reason: string | null) => void;
}

/**
 * Continues conversations with one fixed model: weights of a training service, or an endpoint that speaks text.
 *
 * Throws DomainErrors: `context-overflow` when the conversation leaves no room for a completion, `timed-out`, and
 * `unreachable` after its own tries. It waits for capacity by itself, so that nobody above retries for it.
 */
export interface Completer {
  complete(request: CompletionRequest, options?: CompletionOptions): Promise<Completion>;
  close(): Promise<void>;
}
