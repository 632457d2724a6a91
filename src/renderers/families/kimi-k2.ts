import type { ToolDeclaration } from '../../core/completion';
import type { Message, ToolCall } from '../../core/conversation';
import { jsonText } from '../../core/json-source';
import { DomainError } from '../../core/errors';
import { sortedJson } from '../json-text';
import type { MessageFormat, MessagePlace, Piece, RenderedMessage } from '../message-format';
import { written } from '../message-format';
import { plainText, roleWord, textOf, thinkingOf } from '../message-text';
import type { UnparsedToolCall } from '../renderer';
import type { ReadReply } from '../reply-blocks';
import {
  findBlocks,
  readCall,
  readCallBlocks,
  replyOf,
  separateCalls,
  splitThinking,
  unfinishedCall,
} from '../reply-blocks';
import { matchToolAnswers } from '../tool-answers';
import { markOfAdded } from '../training-weights';
import { declareInTypeScript } from './kimi-tools';

interface KimiVariant {
  readonly name: string;
  /** What the prompt of a reply ends with. */
  readonly opening: '' | '<think>' | '<think></think>';
  readonly keepsHistory: boolean;
  readonly declares: 'json' | 'typescript';
}

const DEFAULT_SYSTEM = 'You are Kimi, an AI assistant created by Moonshot AI.';
const SECTION = ['<|tool_calls_section_begin|>', '<|tool_calls_section_end|>'] as const;
const SECTION_SINGULAR = ['<|tool_call_section_begin|>', '<|tool_call_section_end|>'] as const;
const CALL = ['<|tool_call_begin|>', '<|tool_call_end|>'] as const;
const ARGUMENTS = '<|tool_call_argument_begin|>';

const ROLE_TOKENS = new Map([
  ['user', '<|im_user|>'],
  ['assistant', '<|im_assistant|>'],
]);

const variant = (name: string, differences: Partial<KimiVariant>): MessageFormat =>
  kimiFormat({ name, opening: '<think>', keepsHistory: false, declares: 'typescript', ...differences });

/** Kimi K2 Thinking, K2.5 and K2.6 by the names of their renderers. */
export const KIMI_FORMATS: readonly MessageFormat[] = [
  variant('kimi_k2', { opening: '', declares: 'json' }),
  variant('kimi_k25', {}),
  variant('kimi_k25_disable_thinking', { opening: '<think></think>' }),
  variant('kimi_k26', {}),
  variant('kimi_k26_disable_thinking', { opening: '<think></think>' }),
  variant('kimi_k26_preserve_thinking', { keepsHistory: true }),
];

/** Reads calls and reasoning; also for models whose chat template writes calls like this. */
export function readKimiReply(text: string): ReadReply {
  const [section] = findBlocks(text, [SECTION, SECTION_SINGULAR]);
  const content = text.slice(0, section?.start);
  const calls = section ? readSection(section.inner) : [];
  const read = separateCalls([...calls, ...unfinishedCall(text, [SECTION, SECTION_SINGULAR, CALL])]);
  return replyOf(splitThinking(content) ?? content, read);
}

/** Every reply has a reasoning block, which is emptied in history; there is always a system message. */
function kimiFormat({ name, opening, keepsHistory, declares }: KimiVariant): MessageFormat {
  return {
    name,
    bosText: '',
    hasExtensionProperty: keepsHistory,
    stop: { tokens: ['<|im_end|>'] },
    controlTokens: [
      '<|im_system|>',
      '<|im_user|>',
      '<|im_assistant|>',
      '<|im_middle|>',
      '<|im_end|>',
      '<think>',
      '</think>',
      ...SECTION,
      ...CALL,
      ARGUMENTS,
    ],
    writesCallIds: true,
    ownRoles: ['tool_declare'],
    writesWholeTools: declares === 'json',
    refusesReasoning: opening === '<think></think>',
    prepareMessages: (messages) => matchToolAnswers(withSystem(messages)),
    turnStart,
    renderMessage: (message, place) => renderMessage(message, place, keepsHistory),
    openReply: () => `<|im_assistant|>assistant<|im_middle|>${opening}`,
    parseReply: (text) => readKimiReply(opening === '' ? text : withOpening(text)),
    declareTools: (tools, systemPrompt) => [
      ...(tools.length === 0 ? [] : [{ role: 'tool_declare', content: DECLARATIONS[declares](tools) }]),
      { role: 'system', content: systemPrompt === '' ? DEFAULT_SYSTEM : systemPrompt },
    ],
  };
}

const DECLARATIONS = {
  /** Kimi K2 sorts the keys of its declarations. */
  json: (tools: readonly ToolDeclaration[]) =>
    sortedJson(jsonText(tools.map((tool) => ({ type: 'function', function: tool })))),
  typescript: declareInTypeScript,
};

/** The turn spans all replies and tool outputs since the last reply that called no tool. */
function turnStart(messages: readonly Message[]): number {
  return messages.findLastIndex((message) => message.role === 'assistant' && !message.toolCalls?.length) + 1;
}

function withSystem(messages: readonly Message[]): readonly Message[] {
  const start = messages[0]?.role === 'tool_declare' ? 1 : 0;
  if (messages[start]?.role === 'system') return messages;
  const system = { role: 'system', content: DEFAULT_SYSTEM, ...markOfAdded(messages) };
  return [...messages.slice(0, start), system, ...messages.slice(start)];
}

function renderMessage(message: Message, place: MessagePlace, keepsHistory: boolean): RenderedMessage {
  if (message.role === 'tool') return renderToolOutput(message, place);
  const header = [`${ROLE_TOKENS.get(message.role) ?? '<|im_system|>'}${roleWord(message)}<|im_middle|>`];
  if (message.role !== 'assistant') {
    return { header, body: [written(plainText(message, 'kimi_k2')), '<|im_end|>'] };
  }
  const thinking = place.isInLastTurn || keepsHistory ? thinkingOf(message) : '';
  return {
    header,
    body: [
      '<think>',
      written(thinking),
      '</think>',
      written(textOf(message)),
      ...writeCalls(message.toolCalls ?? []),
      '<|im_end|>',
    ],
  };
}

function renderToolOutput(message: Message, place: MessagePlace): RenderedMessage {
  const { name = 'tool', toolCallId } = message;
  if (toolCallId === undefined) {
    throw new DomainError(
      'bad-dataset',
      `messages[${place.index}] answers a tool call but names none. Add tool_call_id with the id of the call.`,
    );
  }
  return {
    header: ['<|im_system|>', written(name), '<|im_middle|>', written(`## Return of ${toolCallId}\n`)],
    body: [written(plainText(message, 'kimi_k2')), '<|im_end|>'],
  };
}

function writeCalls(calls: readonly ToolCall[]): Piece[] {
  if (calls.length === 0) return [];
  const pieces = calls.flatMap((call, index): Piece[] => [
    CALL[0],
    written(call.id ?? `functions.${call.name}:${index}`),
    ARGUMENTS,
    written(call.arguments),
    CALL[1],
  ]);
  return [SECTION[0], ...pieces, SECTION[1]];
}

function readSection(section: string): (ToolCall | UnparsedToolCall)[] {
  return readCallBlocks(section, CALL, (body, raw) => {
    const [id = '', ...text] = body.split(ARGUMENTS);
    const call = { id: id.trim(), name: toolNameOf(id.trim()), arguments: text.join(ARGUMENTS).trim() };
    return readCall(call, raw);
  });
}

/** `get_weather` of `functions.get_weather:0`. */
function toolNameOf(id: string): string {
  return (id.split(':')[0] ?? '').replace(/^[^.]*\./, '');
}

function withOpening(text: string): string {
  return text.includes('</think>') && !text.startsWith('<think>') ? `<think>${text}` : text;
}
