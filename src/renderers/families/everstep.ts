import type { ToolDeclaration } from '../../core/completion';
import type { Message } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import type { Tokenizer } from '../../core/tokenizer';
import type { MessageFormat, RenderedMessage } from '../message-format';
import { written } from '../message-format';
import { plainText } from '../message-text';
import type { ReadReply } from '../reply-blocks';
import { readCall, replyOf, separateCalls } from '../reply-blocks';
import { NO_PARAMETERS, requirePropertyNames } from '../tool-keys';
import { typeScriptMembers } from './typescript-members';

const ROLES = ['system', 'user', 'assistant', 'tool'];

/** Opens each call of a reply. Plain text, as the model's tokenizer has no token for it. */
const CALL = '<|call|>';

/**
 * `<|bos|><|user|>2+2?<|end|><|assistant|>4<|end|>`: the format of the models that ship with Everstep.
 *
 * A model whose own chat template begins without `<|bos|>` was trained without it, and is given none.
 *
 * Tools are declared in the system message by name and types alone, `search{query_list: string[]}`, and called with
 * `<|call|>search{"query_list":["…"]}`, any number in a reply: at a token a byte, a JSON schema with its descriptions
 * would fill the model's context.
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
    parseReply,
    declareTools,
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
  const calls = message.toolCalls?.map((call) => `${CALL}${call.name}${call.arguments}`) ?? [];
  const text = [plainText(message, 'everstep'), ...calls].join('');
  return { header: [`<|${message.role}|>`], body: [written(text), '<|end|>'] };
}

function declareTools(tools: readonly ToolDeclaration[], systemPrompt: string): Message[] {
  requirePropertyNames(tools, 'everstep');
  const signatures = tools.map(
    ({ name, parameters = NO_PARAMETERS }) => `${name}{${typeScriptMembers(parameters)}}`,
  );
  const lines = [systemPrompt, ...signatures].filter((line) => line !== '');
  return lines.length === 0 ? [] : [{ role: 'system', content: lines.join('\n') }];
}

function parseReply(text: string): ReadReply {
  const [content = '', ...sections] = text.split(CALL);
  const calls = sections.map((section) => {
    const name = /^[^\s{]*/.exec(section)?.[0] ?? '';
    return readCall({ name, arguments: section.slice(name.length).trim() }, CALL + section);
  });
  return replyOf(content, separateCalls(calls));
}
