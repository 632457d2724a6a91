import type { ToolDeclaration } from '../../core/completion';
import { jsonText } from '../../core/json-source';
import type { Message, ToolCall } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import { respaceJson } from '../json-text';
import type { MessageFormat, MessagePlace, Piece, RenderedMessage } from '../message-format';
import { written } from '../message-format';
import { hasThinking, partsOf, plainText, withoutThinking, withReasoningOpened } from '../message-text';
import type { UnparsedToolCall } from '../renderer';
import type { Marks, ReadReply } from '../reply-blocks';
import {
  findBlocks,
  readCall,
  readCallBlocks,
  replyOf,
  separateCalls,
  splitThinking,
  textAround,
  unfinishedCall,
} from '../reply-blocks';
import { NO_PARAMETERS } from '../tool-keys';

export type DeepSeekV3Variant = 'deepseekv3' | 'deepseekv3_disable_thinking' | 'deepseekv3_thinking';

const END = '<｜end▁of▁sentence｜>';
const CALLS: Marks = ['<｜tool▁calls▁begin｜>', '<｜tool▁calls▁end｜>'];
const CALL: Marks = ['<｜tool▁call▁begin｜>', '<｜tool▁call▁end｜>'];
const OUTPUT: Marks = ['<｜tool▁output▁begin｜>', '<｜tool▁output▁end｜>'];
const SEPARATOR = '<｜tool▁sep｜>';
/** Shows the model how a call is written; its tokens are control tokens, unlike those a person writes. */
const CALL_EXAMPLE = `${CALLS[0]}${CALL[0]}tool_call_name${SEPARATOR}tool_call_arguments${CALL[1]}${CALLS[1]}`;

/**
 * DeepSeek V3.1. Replies begin with `</think>`, or with `<think>` where the model thinks; a reply to a tool's output
 * follows it at once. Reasoning is dropped from history.
 */
export function deepSeekV3Format(name: DeepSeekV3Variant): MessageFormat {
  const thinks = name === 'deepseekv3_thinking';
  return {
    name,
    bosText: '<｜begin▁of▁sentence｜>',
    hasExtensionProperty: !thinks,
    stop: { tokens: [END] },
    controlTokens: [
      '<｜begin▁of▁sentence｜>',
      END,
      '<｜User｜>',
      '<｜Assistant｜>',
      '<think>',
      '</think>',
      ...CALLS,
      ...CALL,
      ...OUTPUT,
      SEPARATOR,
    ],
    renderMessage: (message, place) => renderMessage(message, place, thinks),
    openReply: (messages) => {
      if (messages.at(-1)?.role === 'tool') return '';
      return `<｜Assistant｜>${thinks ? '<think>' : '</think>'}`;
    },
    parseReply: (text) => readDeepSeekReply(thinks ? withOpening(text) : text),
    declareTools,
  };
}

/** Reads calls and reasoning; also for models whose chat template writes calls like this. */
export function readDeepSeekReply(text: string): ReadReply {
  const sections = findBlocks(text, [CALLS]);
  const calls = sections.flatMap((section) => readSection(section.inner));
  const read = separateCalls([...calls, ...unfinishedCall(text, [CALLS, CALL])]);
  const hasCalls = read.toolCalls.length + read.unparsed.length > 0;
  const content = hasCalls ? textAround(text, sections).join('').trim() : text;
  return replyOf(splitThinking(content) ?? content, read);
}

function renderMessage(message: Message, place: MessagePlace, thinks: boolean): RenderedMessage {
  switch (message.role) {
    case 'system':
      return { header: [], body: systemText(message, place) };
    case 'user':
      return { header: ['<｜User｜>'], body: [written(plainText(message, 'deepseekv3'))] };
    case 'tool':
      return { header: [OUTPUT[0]], body: [written(plainText(message, 'deepseekv3')), OUTPUT[1]] };
    case 'assistant':
      return renderReply(message, place, thinks);
    default:
      throw new DomainError(
        'bad-dataset',
        `DeepSeek has no role "${message.role.slice(0, 80)}". Use system, user, assistant or tool.`,
      );
  }
}

function systemText(message: Message, place: MessagePlace): Piece[] {
  if (place.index > 0) {
    throw new DomainError(
      'bad-dataset',
      `messages[${place.index}] is a system message, which DeepSeek takes at the start only. Move it there, or make it a user message.`,
    );
  }
  const parts = plainText(message, 'deepseekv3').split(CALL_EXAMPLE);
  return parts.flatMap((part, index) => (index === 0 ? [written(part)] : [CALL_EXAMPLE, written(part)]));
}

function renderReply(message: Message, place: MessagePlace, thinks: boolean): RenderedMessage {
  const keepsThinking = thinks && place.isLast;
  const kept = keepsThinking ? message : withoutReasoning(message, place);
  const isAnswerToTool = place.previous?.role === 'tool';
  const block = keepsThinking && !isAnswerToTool && !hasThinking(message) ? '<think></think>' : '';
  const content = partsOf(kept).flatMap((part): Piece[] =>
    part.type === 'thinking' ? ['<think>', written(part.thinking), '</think>'] : [written(part.text)],
  );
  const role = `<｜Assistant｜>${keepsThinking ? '' : '</think>'}`;
  return {
    header: isAnswerToTool ? [] : [role],
    body: [block, ...content, ...writeCalls(message.toolCalls ?? []), END],
  };
}

function withoutReasoning(message: Message, { isLast }: MessagePlace): Message {
  return withoutThinking(isLast ? message : withReasoningOpened(message), (text) => text);
}

function writeCalls(calls: readonly ToolCall[]): Piece[] {
  if (calls.length === 0) return [];
  return [
    CALLS[0],
    ...calls.flatMap((call) => [CALL[0], written(call.name), SEPARATOR, written(call.arguments), CALL[1]]),
    CALLS[1],
  ];
}

function readSection(section: string): (ToolCall | UnparsedToolCall)[] {
  return readCallBlocks(section, CALL, (body, raw) => {
    const [name = '', ...text] = body.split(SEPARATOR);
    return readCall({ name: name.trim(), arguments: text.join(SEPARATOR).trim() }, raw);
  });
}

function withOpening(text: string): string {
  return text.includes('</think>') && !text.startsWith('<think>') ? `<think>${text}` : text;
}

function declareTools(tools: readonly ToolDeclaration[], systemPrompt: string): Message[] {
  if (tools.length === 0) return [{ role: 'system', content: systemPrompt }];
  const declarations = tools.map((tool) =>
    [
      `### ${tool.name}`,
      `Description: ${tool.description ?? ''}`,
      '',
      `Parameters: ${respaceJson(jsonText(tool.parameters ?? NO_PARAMETERS))}`,
    ].join('\n'),
  );
  const content = [
    `${systemPrompt}\n\n## Tools`,
    'You have access to the following tools:',
    '',
    ...declarations,
    '',
    'IMPORTANT: ALWAYS adhere to this exact format for tool use:',
    CALL_EXAMPLE,
    '',
    'Where:',
    '- `tool_call_name` must be an exact match to one of the available tools',
    "- `tool_call_arguments` must be valid JSON that strictly follows the tool's Parameters Schema",
    '- For multiple tool calls, chain them directly without separators or spaces',
  ];
  return [{ role: 'system', content: content.join('\n') }];
}
