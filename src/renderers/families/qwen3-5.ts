import type { ToolDeclaration } from '../../core/completion';
import { jsonText } from '../../core/json-source';
import type { Message } from '../../core/conversation';
import { respaceJson } from '../json-text';
import { strip } from '../jinja/python-text';
import type { MessageFormat, MessagePlace } from '../message-format';
import { hasClosedThinking, textOf, withoutThinking, withReasoningOpened } from '../message-text';
import type { ReasoningStyle } from './chatml-reasoning';
import {
  chatmlReasoningFormat,
  hasText,
  hasThinkingPart,
  trimmedMessage,
  withSystemMessage,
} from './chatml-reasoning';
import type { ReadReply } from '../reply-blocks';
import { THINKING } from '../reply-blocks';
import { parseQwenReply, withReasoningOpening } from './qwen3-blocks';
import type { LiteralSpelling } from './xml-tool-calls';
import { declareXmlTools, writeXmlCall } from './xml-tool-calls';

const OPEN_BLOCK = '<think>\n';
const EMPTY_BLOCK = '<think>\n\n</think>\n\n';

/** Sentences the Qwen3.8 template puts before the system prompt; `medium` is told nothing. */
const EFFORT_SENTENCES = {
  xhigh:
    'Reasoning effort is set to xhigh. Please think carefully through the task, validate key assumptions, consider plausible alternatives, and prioritize correctness, consistency, and clarity in the final answer.',
  medium: '',
  low: 'Reasoning effort is set to low. Keep your thinking brief and focused, moving directly to the conclusion without unnecessary elaboration.',
};

/** Qwen3.5 and 3.6: replies since the last user message are framed by a reasoning block, earlier ones lose theirs. */
export function qwen35Format(variant: 'qwen3_5' | 'qwen3_5_disable_thinking'): MessageFormat {
  const style = qwenStyle(variant, { disablesThinking: variant !== 'qwen3_5', literals: 'python' });
  return chatmlReasoningFormat({
    ...style,
    writeCalls: (calls, message) => style.writeCalls(calls, withoutThinking(message)),
    keepsThinking: isAfterLastUser,
    emptyBlock: (message, place) =>
      isAfterLastUser(place) && !hasClosedThinking(message) ? EMPTY_BLOCK : '',
    prepareMessages: (messages) => messages,
    trimMessage: (message) => withFramedString(withReasoningOpened(trimmedMessage(message), OPEN_BLOCK)),
  });
}

/** A block that a string begins with is framed by line breaks as a part is, however the string spells it. */
function withFramedString(message: Message): Message {
  if (message.role !== 'assistant' || typeof message.content !== 'string') return message;
  const [open, close] = THINKING;
  const end = message.content.indexOf(close);
  if (!message.content.startsWith(open) || end < 0) return message;
  const [reasoning, rest] = [
    message.content.slice(open.length, end),
    message.content.slice(end + close.length),
  ];
  return { ...message, content: `${OPEN_BLOCK}${strip(reasoning)}\n${close}\n\n${rest.replace(/^\n+/, '')}` };
}

/** Qwen3.8 keeps reasoning in history and frames every reply; reasoning in a string is text to its template. */
export function qwen38Format(effort: keyof typeof EFFORT_SENTENCES | null): MessageFormat {
  const name = effort === null ? 'qwen3_8_disable_thinking' : `qwen3_8_${effort}_reasoning`;
  const sentence = effort === null ? '' : EFFORT_SENTENCES[effort];
  return chatmlReasoningFormat({
    ...qwenStyle(name, { disablesThinking: effort === null, literals: 'json' }),
    keepsThinking: () => true,
    emptyBlock: (message) => (hasThinkingPart(message) ? '' : EMPTY_BLOCK),
    prepareMessages: (messages) => withEffort(messages, sentence),
  });
}

/**
 * No variant has the extension property: the empty block of a reply that did not reason is one token in history, and
 * two where the prompt opened it.
 */
function qwenStyle(
  name: string,
  { disablesThinking, literals }: { disablesThinking: boolean; literals: LiteralSpelling },
): Omit<ReasoningStyle, 'keepsThinking' | 'emptyBlock' | 'prepareMessages'> {
  return {
    name,
    hasExtensionProperty: false,
    opening: disablesThinking ? EMPTY_BLOCK : OPEN_BLOCK,
    refusesReasoning: disablesThinking,
    writesWholeTools: true,
    closing: () => '\n</think>\n\n',
    writeCalls: (calls, message) =>
      (hasText(message) ? '\n\n' : '') + calls.map((call) => writeXmlCall(call, literals)).join('\n'),
    toolResponse: { end: '', next: '\n' },
    trimMessage: trimmedMessage,
    parseReply: parseXmlReply,
    declareTools,
  };
}

function isAfterLastUser(place: MessagePlace): boolean {
  return place.index > place.lastUserIndex;
}

/** Reads the reply to a prompt that opened the reasoning block. */
export function parseXmlReply(text: string, tools: readonly ToolDeclaration[] = []): ReadReply {
  return parseQwenReply(withReasoningOpening(text, OPEN_BLOCK), {
    framesReasoning: true,
    readsXml: true,
    tools,
  });
}

/** An empty system message is not written at all. */
function withEffort(messages: readonly Message[], sentence: string): readonly Message[] {
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return sentence === '' ? messages : withSystemMessage(messages, sentence);
  const content = [sentence, strip(textOf(first))].filter((text) => text !== '').join('\n\n');
  return content === '' ? rest : [{ ...first, content }, ...rest];
}

function declareTools(tools: readonly ToolDeclaration[], systemPrompt: string): Message[] {
  const declaration =
    tools.length === 0
      ? ''
      : declareXmlTools(tools.map((tool) => respaceJson(jsonText({ type: 'function', function: tool }))));
  const content = [declaration, systemPrompt].filter((text) => text !== '').join('\n\n');
  return [{ role: 'system', content }];
}
