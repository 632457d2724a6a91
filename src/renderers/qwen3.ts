import type { ContentPart, Message, ToolCall } from '../core/conversation';
import { DomainError } from '../core/errors';
import type { MessageFormat, MessagePlace, RenderedMessage } from './message-format';
import { roleWord } from './message-text';
import { declareQwenTools, parseQwenReply, writeToolCalls } from './qwen3-blocks';

type Qwen3Variant = 'qwen3' | 'qwen3_disable_thinking' | 'qwen3_instruct';

/**
 * Qwen3's ChatML. `qwen3` thinks and drops reasoning from history; `qwen3_disable_thinking` closes an empty reasoning
 * block in the prompt; `qwen3_instruct` (the 2507 models) knows no such block.
 */
export function qwen3Format(variant: Qwen3Variant): MessageFormat {
  const framesReasoning = variant !== 'qwen3_instruct';
  const closesReasoning = variant === 'qwen3_disable_thinking';
  return {
    name: variant,
    bosText: '',
    hasExtensionProperty: !framesReasoning,
    stop: { token: '<|im_end|>' },
    requiredTokens: ['<|im_start|>', '<|im_end|>'],
    refusesReasoning: closesReasoning,
    renderMessage: (message, place) => {
      if (closesReasoning) requireUserMessage(message, place);
      return renderMessage(message, place, framesReasoning);
    },
    renderReplyHeader: (index) => headerOf('assistant', index) + (closesReasoning ? frameReasoning('') : ''),
    parseReply: (text) => parseQwenReply(text, framesReasoning),
    declareTools: declareQwenTools,
  };
}

function renderMessage(message: Message, place: MessagePlace, framesReasoning: boolean): RenderedMessage {
  const isReply = message.role === 'assistant' && place.isLast;
  const framed = framesReasoning && isReply && place.hasUserMessage;
  const text = framed ? framedText(message) : bareText(message, isReply);
  return {
    header: headerOf(message.role === 'tool' ? 'user' : roleWord(message), place.index),
    content:
      message.role === 'tool'
        ? `<tool_response>\n${text.content}\n</tool_response>`
        : withCalls(text, message),
    end: '<|im_end|>',
  };
}

interface MessageText {
  readonly content: string;
  /** Whether the message says anything itself, apart from the reasoning block the layout adds. */
  readonly hasOwnText: boolean;
}

function framedText(message: Message): MessageText {
  if (typeof message.content === 'string') return framedString(message.content);
  let afterReasoning = false;
  const written = message.content.map((part) => {
    const text =
      part.type === 'thinking' ? frameReasoning(part.thinking) : trimStart(part.text, afterReasoning);
    afterReasoning = part.type === 'thinking';
    return text;
  });
  const content = written.join('');
  const reasons = message.content.some((part) => part.type === 'thinking');
  return {
    content: reasons ? content : frameReasoning('') + trimStart(content, true),
    hasOwnText: content !== '',
  };
}

function framedString(text: string): MessageText {
  const hasOwnText = text !== '';
  const close = text.indexOf('</think>');
  if (close >= 0) {
    const reasoning = text.slice(0, close).split('<think>').at(-1) ?? '';
    const rest = trimStart(text.slice(close + '</think>'.length), true);
    const content = frameReasoning(reasoning) + rest;
    return { content: text.includes('<think>') ? content : frameReasoning('') + content, hasOwnText };
  }
  return {
    content: text.includes('<think>') ? text : frameReasoning('') + trimStart(text, true),
    hasOwnText,
  };
}

function bareText(message: Message, keepsReasoning: boolean): MessageText {
  if (typeof message.content === 'string')
    return { content: message.content, hasOwnText: message.content !== '' };
  const content = message.content
    .filter((part) => keepsReasoning || message.role !== 'assistant' || part.type !== 'thinking')
    .map(writeBarePart)
    .join('');
  return { content, hasOwnText: content !== '' };
}

function writeBarePart(part: ContentPart): string {
  return part.type === 'thinking' ? `<think>${part.thinking}</think>` : part.text;
}

function withCalls(text: MessageText, { toolCalls }: { toolCalls?: readonly ToolCall[] }): string {
  if (!toolCalls) return text.content;
  return text.content + (text.hasOwnText ? '\n' : '') + writeToolCalls(toolCalls);
}

function headerOf(role: string, index: number): string {
  return `${index > 0 ? '\n' : ''}<|im_start|>${role}\n`;
}

function frameReasoning(reasoning: string): string {
  return `<think>\n${reasoning.replace(/^\n+|\n+$/g, '')}\n</think>\n\n`;
}

function trimStart(text: string, shouldTrim: boolean): string {
  return shouldTrim ? text.replace(/^\n+/, '') : text;
}

/** Without a user message the model's own template writes no block after a prompt that always has one. */
function requireUserMessage(message: Message, place: MessagePlace): void {
  if (message.role !== 'assistant' || !place.isLast || place.hasUserMessage || message.content.length === 0)
    return;
  throw new DomainError(
    'bad-dataset',
    'Renderer "qwen3_disable_thinking" cannot train a reply in a conversation without a user message. ' +
      'Add a user message, or use qwen3.',
  );
}
