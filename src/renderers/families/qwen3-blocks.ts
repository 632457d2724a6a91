import type { ToolDeclaration } from '../../core/completion';
import { jsonText } from '../../core/json-source';
import type { ContentPart, ToolCall } from '../../core/conversation';
import { memberText, respaceJson } from '../json-text';
import type { UnparsedToolCall } from '../renderer';
import type { Block, Marks, ReadReply } from '../reply-blocks';
import {
  findBlocks,
  isRecord,
  parseJson,
  partsAround,
  replyOf,
  separateCalls,
  textAround,
  THINKING,
  unfinishedCall,
} from '../reply-blocks';
import { readXmlCall } from './xml-tool-calls';

const CALL = ['<tool_call>', '</tool_call>'] as const;

/** Qwen3's own words for telling the model of its tools. */
export function declareQwenTools(tools: readonly ToolDeclaration[], systemPrompt: string): string {
  if (tools.length === 0) return systemPrompt;
  const lines = tools.map((tool) => respaceJson(jsonText({ type: 'function', function: tool })));
  const declaration = [
    '# Tools',
    '',
    'You may call one or more functions to assist with the user query.',
    '',
    'You are provided with function signatures within <tools></tools> XML tags:',
    '<tools>',
    ...lines,
    '</tools>',
    '',
    'For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:',
    '<tool_call>',
    '{"name": <function-name>, "arguments": <args-json-object>}',
    '</tool_call>',
  ].join('\n');
  return systemPrompt === '' ? declaration : `${systemPrompt}\n\n${declaration}`;
}

export function writeToolCalls(calls: readonly ToolCall[]): string {
  return calls
    .map((call) => {
      const body = `{"name": ${JSON.stringify(call.name)}, "arguments": ${respaceJson(call.arguments)}}`;
      return `<tool_call>\n${body}\n</tool_call>`;
    })
    .join('\n');
}

export interface QwenReplyOptions {
  /** The template frames reasoning with line breaks, which are taken off. */
  readonly framesReasoning: boolean;
  /** Calls may be XML too. */
  readonly readsXml: boolean;
  /** What the model was told of, whose schemas tell texts from other values. */
  readonly tools?: readonly ToolDeclaration[];
}

/** Splits a reply into reasoning, text and tool calls; a reply without such blocks stays one text. */
export function parseQwenReply(text: string, options: QwenReplyOptions): ReadReply {
  if (!text.includes('<think>') && !text.includes('<tool_call>')) {
    return { message: { role: 'assistant', content: text } };
  }
  const { parts, calls } = readBlocks(text, options);
  const unfinished = unfinishedCall(parts.map((part) => (part.type === 'text' ? part.text : '')).join(''), [
    CALL,
  ]);
  const { toolCalls, unparsed } = separateCalls([...calls, ...unfinished]);
  return replyOf(options.framesReasoning ? unframe(parts) : parts, { toolCalls, unparsed });
}

interface Blocks {
  readonly parts: readonly ContentPart[];
  readonly calls: readonly (ToolCall | UnparsedToolCall)[];
}

/** What calls stand between, and whether all of one does. */
export interface CallForm {
  readonly marks: Marks;
  readonly isWhole: (inner: string) => boolean;
}

export const QWEN_CALLS: CallForm = { marks: CALL, isWhole: isWholeCall };

/**
 * A reply to a prompt that opened its reasoning block, with `opening` in front where it closes it. A mark within the
 * arguments of a call closes nothing.
 */
export function withReasoningOpening(
  text: string,
  opening: string,
  { marks, isWhole }: CallForm = QWEN_CALLS,
): string {
  const isOpened = text.startsWith(opening) || /^<think>\s*<\/think>/.test(text);
  if (isOpened || !text.includes(THINKING[1])) return text;
  const calls = findBlocks(text, [marks], (_, inner) => isWhole(inner)).filter(({ inner }) => isWhole(inner));
  const words = textAround(text, calls);
  return words.some((part) => part.includes(THINKING[1])) ? opening + text : text;
}

function isWholeCall(inner: string): boolean {
  return isXmlCall(inner) ? /<\/function>\s*$/.test(inner) : 'value' in parseJson(inner);
}

function isXmlCall(inner: string): boolean {
  return /^\s*<function=/.test(inner);
}

/** A JSON call ends at the first closing mark, as in the reference; a call in XML with its function. */
function findReplyBlocks(text: string): Block[] {
  return findBlocks(
    text,
    [THINKING, CALL],
    (open, inner) => open === THINKING[0] || !isXmlCall(inner) || isWholeCall(inner),
  );
}

/** A call that is only reasoned about is reasoning. */
function readBlocks(text: string, { readsXml, tools }: QwenReplyOptions): Blocks {
  const blocks = findReplyBlocks(text);
  const calls = blocks
    .filter((block) => block.open === CALL[0])
    .map(({ inner, start, end }) => {
      const raw = text.slice(start, end);
      return readsXml && inner.includes('<function=')
        ? readXmlCall(inner, raw, tools)
        : readJsonCall(inner, raw);
    });
  return { parts: partsAround(text, blocks), calls };
}

/** The newlines around reasoning are layout, and an empty block is a turn that did not reason. */
export function unframe(parts: readonly ContentPart[]): ContentPart[] {
  return parts.flatMap((part, index): ContentPart[] => {
    if (part.type === 'thinking') {
      const thinking = part.thinking.replace(/^\n+/, '').trimEnd();
      return thinking.trim() === '' ? [] : [{ type: 'thinking', thinking }];
    }
    const follows = parts[index - 1]?.type === 'thinking';
    return [{ type: 'text', text: follows ? part.text.replace(/^\n+/, '') : part.text }];
  });
}

function readJsonCall(text: string, rawText: string): ToolCall | UnparsedToolCall {
  const parsed = parseJson(text);
  if ('reason' in parsed) return { rawText, reason: parsed.reason };
  const call = parsed.value;
  if (!isRecord(call)) return { rawText, reason: 'Tool call is not a JSON object' };
  if (typeof call['name'] !== 'string') return { rawText, reason: 'Missing or invalid "name" field' };
  if (!isRecord(call['arguments'])) return { rawText, reason: 'Missing or invalid "arguments" field' };
  return {
    ...(typeof call['id'] === 'string' ? { id: call['id'] } : {}),
    name: call['name'],
    arguments: memberText(text, 'arguments') ?? JSON.stringify(call['arguments']),
  };
}
