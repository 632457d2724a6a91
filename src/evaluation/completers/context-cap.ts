import type {
  Completer,
  Completion,
  CompletionOptions,
  CompletionRequest,
  ToolDeclaration,
} from '../../core/completion';
import type { Message } from '../../core/conversation';
import { messageText } from '../runner/message-text';

/** Text has at least this many bytes a token where it is dense, as mathematics and code are. */
const FEWEST_BYTES_A_TOKEN = 3;
/** Prose has about this many. */
const MOST_BYTES_A_TOKEN = 5;
/** Marks of roles and turns. */
const TOKENS_A_MESSAGE = 8;
const LEAST_ROOM = 256;

/**
 * Asks an endpoint for no more tokens than a context has left, for endpoints that refuse what might not fit. An endpoint
 * that speaks text does not say how many tokens a prompt has, so they are estimated from its bytes, rather too many than too
 * few; whether a prompt fits at all is left to the endpoint.
 */
export class ContextCap implements Completer {
  constructor(
    private readonly completer: Completer,
    private readonly contextWindow: number,
  ) {}

  complete(request: CompletionRequest, options?: CompletionOptions): Promise<Completion> {
    const { params } = request;
    const maxTokens = Math.min(params.maxTokens, this.roomAfter(request));
    const capped =
      maxTokens === params.maxTokens ? request : { ...request, params: { ...params, maxTokens } };
    return this.completer.complete(capped, options);
  }

  close(): Promise<void> {
    return this.completer.close();
  }

  private roomAfter({ messages, tools }: CompletionRequest): number {
    const bytes = bytesOf(messages, tools);
    const marks = TOKENS_A_MESSAGE * (messages.length + 1);
    const safe = this.contextWindow - marks - Math.ceil(bytes / FEWEST_BYTES_A_TOKEN);
    if (safe >= LEAST_ROOM) return safe;
    const hopeful = this.contextWindow - marks - Math.ceil(bytes / MOST_BYTES_A_TOKEN);
    return Math.max(1, Math.min(LEAST_ROOM, hopeful));
  }
}

function bytesOf(messages: readonly Message[], tools: readonly ToolDeclaration[] = []): number {
  const texts = messages.map((message) => messageText(message) + JSON.stringify(message.toolCalls ?? ''));
  if (tools.length > 0) texts.push(JSON.stringify(tools));
  return texts.reduce((total, text) => total + Buffer.byteLength(text), 0);
}
