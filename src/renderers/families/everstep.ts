import type { Message } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import type { Tokenizer } from '../../core/tokenizer';
import type { MessageFormat, RenderedMessage } from '../message-format';
import { written } from '../message-format';
import { plainText } from '../message-text';

const ROLES = ['system', 'user', 'assistant', 'tool'];

/**
 * `<|bos|><|user|>2+2?<|end|><|assistant|>4<|end|>`: the format of the models that ship with Everstep.
 *
 * A model whose own chat template begins without `<|bos|>` was trained without it, and is given none.
 */
export function everstepFormat(tokenizer: Tokenizer): MessageFormat {
  const bosText = writesBos(tokenizer) ? '<|bos|>' : '';
  return {
    name: 'everstep',
    bosText,
    hasExtensionProperty: true,
    stop: { tokens: ['<|end|>'] },
    controlTokens: [
      ...(bosText === '' ? [] : [bosText]),
      '<|system|>',
      '<|user|>',
      '<|assistant|>',
      '<|end|>',
    ],
    renderMessage,
    openReply: () => '<|assistant|>',
    parseReply: (text) => ({ message: { role: 'assistant', content: text } }),
  };
}

function writesBos(tokenizer: Tokenizer): boolean {
  const template = 'chatTemplate' in tokenizer ? tokenizer.chatTemplate : null;
  return typeof template !== 'string' || template.includes('bos');
}

function renderMessage(message: Message): RenderedMessage {
  if (!ROLES.includes(message.role)) {
    throw new DomainError(
      'bad-dataset',
      `Renderer "everstep" has no role "${message.role.slice(0, 80)}". Use one of ${ROLES.join(', ')}.`,
    );
  }
  return { header: [`<|${message.role}|>`], body: [written(plainText(message, 'everstep')), '<|end|>'] };
}
