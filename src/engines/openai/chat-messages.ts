import type { CompletionRequest, ToolDeclaration } from '../../core/completion';
import type { Message, ToolCall } from '../../core/conversation';
import type { JsonObject } from './answer-fields';
import { textOf } from './thinking';

/**
 * A conversation in the words of the chat API.
 *
 * Reasoning of earlier turns is left out, as the field does. The API ties each tool result to a call by id: calls and
 * results without one are tied in their order.
 */
export function chatMessages(messages: CompletionRequest['messages']): JsonObject[] {
  const unanswered: string[] = [];
  return messages.map((message, index) => {
    if (message.role === 'tool') return toolMessage(message, unanswered);
    const calls = (message.toolCalls ?? []).map((call, callIndex) =>
      chatToolCall(call, call.id ?? `call_${index}_${callIndex}`),
    );
    unanswered.push(...calls.map(({ id }) => id));
    const text = textOf(message.content);
    return {
      role: message.role,
      content: text === '' && calls.length > 0 ? null : text,
      name: message.name,
      tool_calls: calls.length > 0 ? calls : undefined,
    };
  });
}

export function chatTools(tools: readonly ToolDeclaration[] | undefined): JsonObject[] | undefined {
  if (tools === undefined || tools.length === 0) return undefined;
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
}

function toolMessage(message: Message, unanswered: string[]): JsonObject {
  const id = message.toolCallId ?? unanswered[0] ?? 'call_0_0';
  const place = unanswered.indexOf(id);
  if (place >= 0) unanswered.splice(place, 1);
  return { role: 'tool', tool_call_id: id, content: textOf(message.content) };
}

function chatToolCall(call: ToolCall, id: string): JsonObject & { readonly id: string } {
  return { id, type: 'function', function: { name: call.name, arguments: call.arguments } };
}
