import type { ToolDeclaration } from '../core/completion';
import type { Message } from '../core/conversation';
import type { MessageNumbers } from './message-numbers';
import { numberedAsGiven } from './message-numbers';
import { textOf } from './message-text';
import type { Renderer } from './renderer';
import { markOfAdded } from './training-weights';

/**
 * A conversation whose model is told of its tools, in the renderer's own way. The system prompt, where there is one, goes
 * into the declaration. Refused where the renderer has no tools.
 */
export function conversationWithTools(
  renderer: Renderer,
  messages: readonly Message[],
  tools: readonly ToolDeclaration[] = [],
): readonly Message[] {
  if (tools.length === 0) return messages;
  const [first] = messages;
  const system = first?.role === 'system' ? first : null;
  const declared = renderer.declareTools(tools, system === null ? '' : textOf(system));
  const mark = system?.trainable === undefined ? markOfAdded(messages) : { trainable: system.trainable };
  return [
    ...declared.map((message) => ({ ...message, ...mark })),
    ...messages.slice(system === null ? 0 : 1),
  ];
}

interface GivenConversation {
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDeclaration[] | undefined;
  /** Where its messages stand, if not under `messages` alone. */
  readonly numbers?: MessageNumbers | undefined;
}

/** What `render` makes of a conversation with its tools. What is refused is numbered as it was given. */
export function renderWithTools<Result>(
  renderer: Renderer,
  { messages, tools, numbers = { before: 0 } }: GivenConversation,
  render: (conversation: readonly Message[]) => Result,
): Result {
  const conversation = conversationWithTools(renderer, messages, tools);
  const before = numbers.before + conversation.length - messages.length;
  return numberedAsGiven({ ...numbers, before }, () => render(conversation));
}
