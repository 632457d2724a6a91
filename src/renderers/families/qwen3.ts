import type { ContentPart, Message, ToolCall } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import { stripEnds } from '../../core/strip-ends';
import type { MessageFormat, MessagePlace, RenderedMessage } from '../message-format';
import { strip } from '../jinja/python-text';
import { written, writtenAlone } from '../message-format';
import {
  hasClosedThinking,
  roleWord,
  textOf,
  thinkingOf,
  withoutThinking,
  withReasoningOpened,
} from '../message-text';
import { THINKING } from '../reply-blocks';
import { declareQwenTools, parseQwenReply, writeToolCalls } from './qwen3-blocks';

type Qwen3Variant = 'qwen3' | 'qwen3_disable_thinking' | 'qwen3_instruct';

/**
 * Qwen3's ChatML. `qwen3` thinks and drops the reasoning of earlier turns; `qwen3_disable_thinking` closes an empty
 * reasoning block in the prompt; `qwen3_instruct` (the 2507 models) knows no such block.
 */
export function qwen3Format(variant: Qwen3Variant): MessageFormat {
  const framesReasoning = variant !== 'qwen3_instruct';
  const closesReasoning = variant === 'qwen3_disable_thinking';
  return {
    name: variant,
    bosText: '',
    hasExtensionProperty: !framesReasoning,
    stop: { tokens: ['<|im_end|>'] },
    controlTokens: ['<|im_start|>', '<|im_end|>'],
    refusesReasoning: closesReasoning,
    writesWholeTools: true,
    renderMessage: (message, place) => {
      if (closesReasoning) requireUserMessage(message, place);
      const rendered = renderMessage(
        framesReasoning ? withReasoningOpened(message) : message,
        place,
        framesReasoning,
      );
      return closesReasoning ? withBlockAlone(rendered) : rendered;
    },
    openReply: (messages) =>
      headerOf('assistant', messages.length) + (closesReasoning ? frameReasoning('') : ''),
    parseReply: (text) => parseQwenReply(text, { framesReasoning, readsXml: false }),
    declareTools: (tools, systemPrompt) => [
      { role: 'system', content: declareQwenTools(tools, systemPrompt) },
    ],
  };
}

function renderMessage(message: Message, place: MessagePlace, framesReasoning: boolean): RenderedMessage {
  if (message.role === 'tool') return renderToolResponse(message, place);
  const text = framesReasoning ? reasoningText(message, place) : bareText(message, place.isLast);
  return {
    header: [headerOf(roleWord(message), place.index)],
    body: [written(withCalls(text, message)), '<|im_end|>'],
  };
}

/** A reply is sampled behind the closed block, so that its first line break is no part of the block's last token. */
function withBlockAlone({ header, body: [text, ...end] }: RenderedMessage): RenderedMessage {
  const block = frameReasoning('');
  if (typeof text !== 'object' || !text.written.startsWith(block)) {
    return { header, body: text === undefined ? end : [text, ...end] };
  }
  return { header, body: [writtenAlone(block), written(text.written.slice(block.length)), ...end] };
}

/** Several tool responses in a row share one user message. */
function renderToolResponse(message: Message, place: MessagePlace): RenderedMessage {
  const { content } = bareText(message, true);
  return {
    header: [place.previous?.role === 'tool' ? '\n' : headerOf('user', place.index)],
    body: [
      written(`<tool_response>\n${content}\n</tool_response>`),
      place.next?.role === 'tool' ? '' : '<|im_end|>',
    ],
  };
}

interface MessageText {
  readonly content: string;
  /** Whether the message says anything besides its reasoning. */
  readonly hasOwnText: boolean;
}

/** Replies since the last user message keep what they reasoned; the last one has a block even when it did not reason. */
function reasoningText(message: Message, place: MessagePlace): MessageText {
  if (message.role !== 'assistant' || place.lastUserIndex < 0) return bareText(message, place.isLast);
  if (place.isLast) return framedText(message);
  const isInTurn = place.index > place.lastUserIndex;
  return isInTurn && hasClosedThinking(message) && !isEmptyBlock(message)
    ? framedText(message)
    : bareText(withoutThinking(message), false);
}

/** A closed block without a word. */
function isEmptyBlock(message: Message): boolean {
  if (typeof message.content === 'string') return /^\s*<think>\s*<\/think>/.test(message.content);
  return strip(thinkingOf(message)) === '';
}

function framedText(message: Message): MessageText {
  if (typeof message.content === 'string') return framedString(message.content);
  let afterReasoning = false;
  const parts = message.content.map((part) => {
    const text =
      part.type === 'thinking' ? frameReasoning(part.thinking) : trimStart(part.text, afterReasoning);
    afterReasoning = part.type === 'thinking';
    return text;
  });
  const content = parts.join('');
  return {
    content: hasClosedThinking(message) ? content : frameReasoning('') + trimStart(content, true),
    hasOwnText: textOf(message) !== '',
  };
}

/** Words before the block stay before it; space that is all of it does not, as in the template. */
function framedString(text: string): MessageText {
  const open = text.indexOf(THINKING[0]);
  const close = text.indexOf(THINKING[1]);
  if (open < 0 || close < 0)
    return { content: frameReasoning('') + trimStart(text, true), hasOwnText: text !== '' };
  const words = text.slice(0, open);
  const before = strip(words) === '' ? '' : words;
  const rest = trimStart(text.slice(close + THINKING[1].length), true);
  return {
    content: before + frameReasoning(text.slice(open + THINKING[0].length, close)) + rest,
    hasOwnText: before + rest !== '',
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
  if (!toolCalls?.length) return text.content;
  return text.content + (text.hasOwnText ? '\n' : '') + writeToolCalls(toolCalls);
}

function headerOf(role: string, index: number): string {
  return `${index > 0 ? '\n' : ''}<|im_start|>${role}\n`;
}

function frameReasoning(reasoning: string): string {
  return `<think>\n${stripEnds(reasoning, '\n')}\n</think>\n\n`;
}

function trimStart(text: string, shouldTrim: boolean): string {
  return shouldTrim ? text.replace(/^\n+/, '') : text;
}

/** Without a user message the model's own template writes no block after a prompt that always has one. */
function requireUserMessage(message: Message, place: MessagePlace): void {
  if (message.role !== 'assistant' || !place.isLast || place.lastUserIndex >= 0) return;
  if (message.content.length === 0) return;
  throw new DomainError(
    'bad-dataset',
    'Renderer "qwen3_disable_thinking" cannot train a reply in a conversation without a user message. ' +
      'Add a user message, or use qwen3.',
  );
}
