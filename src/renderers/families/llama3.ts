import type { Message } from '../../core/conversation';
import type { Tokenizer } from '../../core/tokenizer';
import { strip } from '../jinja/python-text';
import type { MessageFormat, RenderedMessage } from '../message-format';
import { written } from '../message-format';
import { plainText, roleWord } from '../message-text';
import { markOfAdded } from '../training-weights';

/** What the templates of Llama 3.1 and later write before every system prompt, also where there is none. */
const DATES = 'Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n';

/**
 * `<|start_header_id|>user<|end_header_id|>\n\n2+2?<|eot_id|>` of the Llama 3 instruct models; tool calls are not written.
 * As in their templates the space around words goes, and where a model's own template has dates, they stand first.
 */
export function llama3Format(tokenizer: Tokenizer): MessageFormat {
  const hasDates = writesDates(tokenizer);
  return {
    name: 'llama3',
    bosText: '<|begin_of_text|>',
    // The space at the end of a reply stays in what was sampled and goes from history.
    hasExtensionProperty: false,
    stop: { tokens: ['<|eot_id|>'] },
    ownRoles: ['ipython'],
    controlTokens: ['<|begin_of_text|>', '<|start_header_id|>', '<|end_header_id|>', '<|eot_id|>'],
    ...(hasDates && { prepareMessages: withDates }),
    renderMessage,
    openReply: () => headerOf('assistant'),
    parseReply: (text) => ({ message: { role: 'assistant', content: text } }),
  };
}

function writesDates(tokenizer: Tokenizer): boolean {
  const template = 'chatTemplate' in tokenizer ? tokenizer.chatTemplate : null;
  return typeof template === 'string' && template.includes('Cutting Knowledge Date');
}

function withDates(messages: readonly Message[]): readonly Message[] {
  const [first, ...rest] = messages;
  if (first?.role !== 'system') {
    return [{ role: 'system', content: DATES, ...markOfAdded(messages) }, ...messages];
  }
  return [{ ...first, content: DATES + strip(plainText(first, 'llama3')) }, ...rest];
}

function renderMessage(message: Message): RenderedMessage {
  const text = plainText(message, 'llama3');
  const words = message.role === 'system' && text.startsWith(DATES) ? text : strip(text);
  return { header: [headerOf(roleWord(message))], body: [written(words), '<|eot_id|>'] };
}

function headerOf(role: string): string {
  return `<|start_header_id|>${role}<|end_header_id|>\n\n`;
}
