import type { Message } from '../../core/conversation';
import type { MessageFormat, RenderedMessage } from '../message-format';
import { written } from '../message-format';
import { plainText, roleWord } from '../message-text';

/** `User: 2+2?\n\nAssistant: 4\n\nUser:`: for base models without chat tokens. */
export function roleColonFormat(bosToken: string | null): MessageFormat {
  return {
    name: 'role_colon',
    bosText: bosToken ?? '',
    hasExtensionProperty: true,
    stop: { text: '\n\nUser:' },
    controlTokens: [],
    renderMessage,
    openReply: () => 'Assistant:',
    parseReply: (text) => ({ message: { role: 'assistant', content: text } }),
    trimReply: (text) => text.replace(/^ /, '').replace(/\n\n$/, ''),
  };
}

function renderMessage(message: Message): RenderedMessage {
  const role = roleWord(message);
  return {
    header: [`${role.charAt(0).toUpperCase()}${role.slice(1).toLowerCase()}:`],
    body: [written(` ${plainText(message, 'role_colon')}\n\n`)],
    ...(message.role === 'assistant' ? { stopOverlap: 'User:' } : {}),
  };
}
