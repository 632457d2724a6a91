import type { ToolDeclaration } from '../core/completion';
import type { Message } from '../core/conversation';
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
