import type { Message } from '../core/conversation';
import { DomainError } from '../core/errors';

const ROLE = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** Text of a message for formats that know no reasoning. */
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
