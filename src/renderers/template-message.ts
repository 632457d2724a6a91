import type { Message } from '../core/conversation';

/** A message as Hugging Face chat templates read it: reasoning beside the text, tool calls in OpenAI's nesting. */
export function toTemplateMessage(message: Message): Record<string, unknown> {
  const reasoning = reasoningOf(message);
  return {
    role: message.role,
    content: textOf(message),
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(message.name === undefined ? {} : { name: message.name }),
    ...(message.toolCallId === undefined ? {} : { tool_call_id: message.toolCallId }),
    ...(message.toolCalls ? { tool_calls: message.toolCalls.map(toTemplateCall) } : {}),
  };
}

function toTemplateCall({
  id,
  name,
  arguments: text,
}: NonNullable<Message['toolCalls']>[number]): Record<string, unknown> {
  return {
    type: 'function',
    ...(id === undefined ? {} : { id }),
    function: { name, arguments: parsed(text) },
  };
}

function textOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function reasoningOf({ content }: Message): string {
  if (typeof content === 'string') return '';
  return content.map((part) => (part.type === 'thinking' ? part.thinking : '')).join('');
}

/** Templates write arguments with `tojson`, so they want the object; text that is no JSON is handed on as it is. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
