import type { Message } from '../core/conversation';
import { DomainError } from '../core/errors';
import type { MessageFormat, RenderedMessage } from './message-format';
import { plainText } from './message-text';

const ROLES = ['system', 'user', 'assistant', 'tool'];

/** `<|bos|><|user|>2+2?<|end|><|assistant|>4<|end|>`: the format of the bundled tiny model. */
export const everstepFormat: MessageFormat = {
  name: 'everstep',
  bosText: '<|bos|>',
  hasExtensionProperty: true,
  stop: { token: '<|end|>' },
  requiredTokens: ['<|bos|>', '<|system|>', '<|user|>', '<|assistant|>', '<|end|>'],
  renderMessage,
  renderReplyHeader: () => '<|assistant|>',
  parseReply: (text) => ({ message: { role: 'assistant', content: text } }),
};

function renderMessage(message: Message): RenderedMessage {
  if (!ROLES.includes(message.role)) {
    throw new DomainError(
      'bad-dataset',
      `Renderer "everstep" has no role "${message.role.slice(0, 80)}". Use one of ${ROLES.join(', ')}.`,
    );
  }
  return { header: `<|${message.role}|>`, content: plainText(message, 'everstep'), end: '<|end|>' };
}
