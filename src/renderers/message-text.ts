import type { ContentPart, Message } from '../core/conversation';
import { DomainError } from '../core/errors';
import { splitThinking, withOpenedBlock } from './reply-blocks';

const ROLE = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** Text of a message that cannot reason: of another role, or in a format that knows no reasoning. */
export function plainText(message: Message, rendererName: string): string {
  if (typeof message.content === 'string') return message.content;
  return message.content
    .map((part) => {
      if (part.type === 'text') return part.text;
      throw new DomainError(
        'bad-dataset',
        `Renderer "${rendererName}" writes text only, but a message of role "${message.role}" has a part of type "${part.type}". ` +
          'Remove the reasoning from the message, or use a renderer that knows it, such as qwen3.',
      );
    })
    .join('');
}

/** A role is written into the layout, where special tokens are recognised, so it must be a plain word. */
export function roleWord(message: Message): string {
  if (ROLE.test(message.role)) return message.role;
  throw new DomainError(
    'bad-dataset',
    `Role "${message.role.slice(0, 80)}" is not a word of letters, digits, "_" or "-". Use system, user, assistant or tool.`,
  );
}

export function partsOf({ content }: Message): readonly ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

/** The text of a message without its reasoning parts; what stands in a string is text. */
export function textOf(message: Message): string {
  return partsOf(message)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('');
}

export function thinkingOf(message: Message): string {
  return partsOf(message)
    .map((part) => (part.type === 'thinking' ? part.thinking : ''))
    .join('');
}

/** Whether a message reasons, in a part or in a `<think>` block within a string. */
export function hasThinking({ content }: Message): boolean {
  if (typeof content === 'string') return content.includes('<think>');
  return content.some((part) => part.type === 'thinking');
}

/** Whether a message has reasoning that ends, which is all that Qwen's templates take for reasoning. */
export function hasClosedThinking({ content }: Message): boolean {
  if (typeof content === 'string') return content.includes('</think>');
  return content.some((part) => part.type === 'thinking');
}

/** A reply whose text only closes a block is given its opening, which stood in the prompt it was sampled from. */
export function withReasoningOpened(message: Message, opening?: string): Message {
  if (message.role !== 'assistant' || typeof message.content !== 'string') return message;
  return { ...message, content: withOpenedBlock(message.content, opening) };
}

/** The message as it stands in history where reasoning is dropped, whether it came as a part or within a string. */
export function withoutThinking(message: Message, trim: (text: string) => string = trimLineBreaks): Message {
  if (message.role !== 'assistant' || !hasThinking(message)) return message;
  if (typeof message.content !== 'string') {
    return { ...message, content: message.content.filter((part) => part.type !== 'thinking') };
  }
  if (!message.content.includes('</think>')) return message;
  const parts = splitThinking(message.content) ?? [];
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { ...message, content: trim(text) };
}

function trimLineBreaks(text: string): string {
  return text.replace(/^\n+/, '');
}
