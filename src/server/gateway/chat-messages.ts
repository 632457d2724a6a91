import type { ToolDeclaration } from '../../core/completion';
import type { ContentPart, Message } from '../../core/conversation';
import { RequestError } from '../http/request-error';
import type { ChatBody, ChatMessage } from './chat-schemas';

/** OpenAI's messages as renderers know them. */
export function readMessages(messages: readonly ChatMessage[]): Message[] {
  return messages.map(readMessage);
}

export function readTools({ tools, tool_choice: choice }: ChatBody): ToolDeclaration[] {
  if (choice === 'none') return [];
  return (tools ?? []).map(({ function: { name, description, parameters } }) => ({
    name,
    ...(description != null && { description }),
    ...(parameters != null && { parameters }),
  }));
}

function readMessage(message: ChatMessage): Message {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: textOf(message.content), ...nameOf(message) };
    case 'user':
      return { role: 'user', content: textOf(message.content), ...nameOf(message) };
    case 'tool':
      return {
        role: 'tool',
        content: textOf(message.content),
        toolCallId: message.tool_call_id,
        ...nameOf(message),
      };
    case 'assistant':
      return readReply(message);
  }
}

/** Refused where the prompt format does not write it. */
function nameOf({ name }: { readonly name?: string | undefined }): Pick<Message, 'name'> {
  return name === undefined || name === '' ? {} : { name };
}

function readReply(message: Extract<ChatMessage, { role: 'assistant' }>): Message {
  const { content, reasoning_content: thinking, tool_calls: calls } = message;
  const text = content == null ? '' : textOf(content);
  if (text === '' && !thinking && !calls?.length) {
    throw new RequestError(400, {
      message: 'An assistant message needs content or tool_calls.',
      param: 'messages',
    });
  }
  const parts: ContentPart[] = [
    ...(thinking ? [{ type: 'thinking' as const, thinking }] : []),
    { type: 'text' as const, text },
  ];
  return {
    role: 'assistant',
    content: thinking ? parts : text,
    ...nameOf(message),
    ...(calls?.length && {
      toolCalls: calls.map((call) => ({ ...(call.id !== undefined && { id: call.id }), ...call.function })),
    }),
  };
}

function textOf(content: string | readonly { readonly text: string }[]): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('');
}
