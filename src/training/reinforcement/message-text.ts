import { callText } from '../../core/call-text';
import type { Message } from '../../core/conversation';

/** Everything a message says, tool calls included, for people to read. */
export function messageText(message: Message): string {
  const calls = (message.toolCalls ?? []).map(callText);
  return [spokenText(message), ...calls].filter((part) => part !== '').join('\n');
}

/** What a message says with its reasoning, without its tool calls. */
export function spokenText({ content }: Message): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : `[thinking] ${part.thinking}`)).join('\n');
}
