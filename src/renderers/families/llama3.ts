import type { Message } from '../../core/conversation';
import type { MessageFormat, RenderedMessage } from '../message-format';
import { written } from '../message-format';
import { plainText, roleWord } from '../message-text';

/** `<|start_header_id|>user<|end_header_id|>\n\n2+2?<|eot_id|>` of the Llama 3 instruct models; tool calls are not written. */
export const llama3Format: MessageFormat = {
  name: 'llama3',
  bosText: '<|begin_of_text|>',
  hasExtensionProperty: true,
  stop: { tokens: ['<|eot_id|>'] },
  controlTokens: ['<|begin_of_text|>', '<|start_header_id|>', '<|end_header_id|>', '<|eot_id|>'],
  renderMessage,
  openReply: () => headerOf('assistant'),
  parseReply: (text) => ({ message: { role: 'assistant', content: text } }),
};

function renderMessage(message: Message): RenderedMessage {
  return {
    header: [headerOf(roleWord(message))],
    body: [written(plainText(message, 'llama3')), '<|eot_id|>'],
  };
}

function headerOf(role: string): string {
  return `<|start_header_id|>${role}<|end_header_id|>\n\n`;
}
