import type { ToolDeclaration } from '../../core/completion';
import type { Message, ToolCall } from '../../core/conversation';
import { strip } from '../jinja/python-text';
import type { MessageFormat, MessagePlace, Piece, RenderedMessage } from '../message-format';
import { written, writtenAlone } from '../message-format';
import { hasThinking, partsOf, roleWord, textOf, thinkingOf, withoutThinking } from '../message-text';
import type { ReadReply } from '../reply-blocks';
import { markOfAdded } from '../training-weights';

/** What tells apart the families that reason in ChatML and call tools in XML (Qwen3.5, Qwen3.8, Nemotron 3). */
export interface ReasoningStyle {
  readonly name: string;
  readonly hasExtensionProperty: boolean;
  /** What the prompt of a reply ends with: an open reasoning block, or a closed one. */
  readonly opening: string;
  readonly refusesReasoning: boolean;
  readonly writesWholeTools: boolean;
  /** Ends a reasoning block, up to the text after it. */
  closing(message: Message): string;
  /** Whether reasoning is written where the message stands. */
  keepsThinking(place: MessagePlace): boolean;
  /** Block of a reply whose reasoning is not written; empty where there is none. */
  emptyBlock(message: Message, place: MessagePlace): string;
  /** Tool calls and what separates them from the text before. */
  writeCalls(calls: readonly ToolCall[], message: Message): string;
  /** What ends one of several tool responses, and what begins the next of them. */
  readonly toolResponse: { readonly end: string; readonly next: string };
  /** Takes off what the template takes off the words and the reasoning of a message. */
  trimMessage(message: Message, place: MessagePlace): Message;
  prepareMessages(messages: readonly Message[]): readonly Message[];
  parseReply(text: string, tools?: readonly ToolDeclaration[]): ReadReply;
  declareTools(tools: readonly ToolDeclaration[], systemPrompt: string): Message[];
}

export function chatmlReasoningFormat(style: ReasoningStyle): MessageFormat {
  return {
    name: style.name,
    bosText: '',
    hasExtensionProperty: style.hasExtensionProperty,
    stop: { tokens: ['<|im_end|>'] },
    controlTokens: ['<|im_start|>', '<|im_end|>', '<think>', '</think>'],
    refusesReasoning: style.refusesReasoning,
    writesWholeTools: style.writesWholeTools,
    prepareMessages: (messages) => style.prepareMessages(messages),
    renderMessage: (message, place) => renderMessage(style, style.trimMessage(message, place), place),
    openReply: (messages) => headerOf('assistant', messages.length) + style.opening,
    parseReply: (text, tools) => style.parseReply(text, tools),
    declareTools: (tools, systemPrompt) => style.declareTools(tools, systemPrompt),
  };
}

function renderMessage(style: ReasoningStyle, message: Message, place: MessagePlace): RenderedMessage {
  if (message.role === 'tool') return renderToolResponse(style, message, place);
  const header = headerOf(roleWord(message), place.index);
  if (message.role !== 'assistant')
    return { header: [header], body: [...contentOf(style, message), '<|im_end|>'] };

  const kept = style.keepsThinking(place) ? message : withoutThinking(message);
  const calls = message.toolCalls ? style.writeCalls(message.toolCalls, message) : '';
  const body = [...contentOf(style, kept), written(calls), '<|im_end|>'];
  const block = style.emptyBlock(message, place);
  return place.isLast
    ? openedReply(style.opening, header, block === '' ? body : [block, ...body])
    : { header: [header + block], body };
}

/** The reasoning block a reply begins with is layout as far as the prompt writes it, or where it is a whole empty one. */
function openedReply(opening: string, header: string, body: readonly Piece[]): RenderedMessage {
  const [first = '', ...rest] = body;
  if (typeof first !== 'string') return { header: [header], body: [...openedWords(opening, first), ...rest] };
  if (first.startsWith(opening)) {
    return { header: [header + opening], body: [first.slice(opening.length), ...rest] };
  }
  return first.endsWith('</think>') ? { header: [header + first], body: rest } : { header: [header], body };
}

/** Of words that begin with the block themselves, what the prompt ends with has tokens of its own, as it has there. */
function openedWords(opening: string, piece: Exclude<Piece, string>): Piece[] {
  if (!piece.written.startsWith(opening)) return [piece];
  return [writtenAlone(opening), written(piece.written.slice(opening.length))];
}

/** Several tool responses in a row share one user message. */
function renderToolResponse(style: ReasoningStyle, message: Message, place: MessagePlace): RenderedMessage {
  const follows = place.previous?.role === 'tool';
  return {
    header: [follows ? style.toolResponse.next : headerOf('user', place.index)],
    body: [
      '<tool_response>\n',
      ...contentOf(style, message),
      `\n</tool_response>${style.toolResponse.end}`,
      place.next?.role === 'tool' ? '' : '<|im_end|>',
    ],
  };
}

function contentOf(style: ReasoningStyle, message: Message): Piece[] {
  return partsOf(message).flatMap((part): Piece[] =>
    part.type === 'thinking'
      ? ['<think>\n', written(part.thinking), style.closing(message)]
      : [written(part.text)],
  );
}

function headerOf(role: string, index: number): string {
  return `${index > 0 ? '\n' : ''}<|im_start|>${role}\n`;
}

/** Without the space around its words and around its reasoning, both of which may be given in several parts. */
export function trimmedMessage(message: Message): Message {
  if (typeof message.content === 'string') return { ...message, content: strip(message.content) };
  const [thinking, text] = [strip(thinkingOf(message)), strip(textOf(message))];
  return {
    ...message,
    content: [
      ...(thinking === '' ? [] : [{ type: 'thinking' as const, thinking }]),
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ],
  };
}

/** A system message is put before the conversation; where marks decide on loss it is marked as carrying none. */
export function withSystemMessage(messages: readonly Message[], content: string): readonly Message[] {
  return [{ role: 'system', content, ...markOfAdded(messages) }, ...messages];
}

/** Whether a message says anything besides its reasoning. */
export function hasText(message: Message): boolean {
  return partsOf(message).some((part) => part.type === 'text' && strip(part.text) !== '');
}

export function hasThinkingPart(message: Message): boolean {
  return typeof message.content !== 'string' && hasThinking(message);
}
