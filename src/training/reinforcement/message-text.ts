import type { Message } from '../../core/conversation';

/** Everything a message says, tool calls included, for people to read. */
export function messageText({ content, toolCalls = [] }: Message): string {
  const text =
    typeof content === 'string'
      ? content
      : content.map((part) => (part.type === 'text' ? part.text : `[thinking] ${part.thinking}`)).join('\n');
  const calls = toolCalls.map(({ name, arguments: given }) => `[calls ${name}(${given})]`);
  return [text, ...calls].filter((part) => part !== '').join('\n');
}
