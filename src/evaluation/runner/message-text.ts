import type { Message } from '../../core/conversation';

/** What a message says, without its reasoning. */
export function messageText({ content }: Message): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
