import type { Message } from '../../core/conversation';

/** What a message says, without its reasoning. */
export function messageText({ content }: Message): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** As `messageText`, with the tools a message calls, a line each: what a grader sees where tools are declared. */
export function answerText(message: Message): string {
  const calls = message.toolCalls ?? [];
  return [
    messageText(message),
    ...calls.map((call) => `{"name": ${JSON.stringify(call.name)}, "arguments": ${call.arguments}}`),
  ]
    .filter((line) => line !== '')
    .join('\n');
}
