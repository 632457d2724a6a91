import type { ContentPart, ToolCall } from '../core/conversation';
import { respaceJson, memberText } from './json-text';
import type { ParsedReply, ToolDeclaration, UnparsedToolCall } from './renderer';

const BLOCK = /<think>(.*?)<\/think>|<tool_call>(.*?)<\/tool_call>/gs;

/** Qwen3's own words for telling the model of its tools. */
export function declareQwenTools(tools: readonly ToolDeclaration[], systemPrompt: string): string {
  if (tools.length === 0) return systemPrompt;
  const lines = tools.map((tool) => respaceJson(JSON.stringify({ type: 'function', function: tool })));
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

/** Splits a reply into reasoning, text and tool calls; a reply without such blocks stays one text. */
export function parseQwenReply(text: string, framesReasoning: boolean): Omit<ParsedReply, 'termination'> {
  if (!text.includes('<think>') && !text.includes('<tool_call>')) {
    return { message: { role: 'assistant', content: text } };
  }
  const parts = readParts(text);
  const calls = [...text.matchAll(BLOCK)].flatMap(([raw, , call]) =>
    call === undefined ? [] : [readToolCall(call, raw)],
  );
  const toolCalls = calls.filter((call) => 'name' in call);
  const unparsed = [...calls.filter((call) => 'rawText' in call), ...unfinishedCall(text)];
  return {
    message: {
      role: 'assistant',
      content: framesReasoning ? unframe(parts) : parts,
      ...(toolCalls.length > 0 ? { toolCalls } : {}),
    },
    ...(unparsed.length > 0 ? { unparsedToolCalls: unparsed } : {}),
  };
}

function readParts(text: string): ContentPart[] {
  const parts: ContentPart[] = [];
  let position = 0;
  for (const match of text.matchAll(BLOCK)) {
    if (match.index > position) parts.push({ type: 'text', text: text.slice(position, match.index) });
    if (match[1]) parts.push({ type: 'thinking', thinking: match[1] });
    position = match.index + match[0].length;
  }
  if (position < text.length) parts.push({ type: 'text', text: text.slice(position) });
  return parts;
}

/** The newlines around reasoning are layout, and an empty block is a turn that did not reason. */
function unframe(parts: readonly ContentPart[]): ContentPart[] {
  return parts.flatMap((part, index): ContentPart[] => {
    if (part.type === 'thinking') {
      const thinking = part.thinking.replace(/^\n+|\n+$/g, '');
      return thinking === '' ? [] : [{ type: 'thinking', thinking }];
    }
    const follows = parts[index - 1]?.type === 'thinking';
    return [{ type: 'text', text: follows ? part.text.replace(/^\n+/, '') : part.text }];
  });
}

function readToolCall(text: string, rawText: string): ToolCall | UnparsedToolCall {
  let call: unknown;
  try {
    call = JSON.parse(text);
  } catch (error) {
    return { rawText, reason: `Invalid JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  if (!isRecord(call)) return { rawText, reason: 'Tool call is not a JSON object' };
  if (typeof call['name'] !== 'string') return { rawText, reason: 'Missing or invalid "name" field' };
  if (!isRecord(call['arguments'])) return { rawText, reason: 'Missing or invalid "arguments" field' };
  return {
    ...(typeof call['id'] === 'string' ? { id: call['id'] } : {}),
    name: call['name'],
    arguments: memberText(text, 'arguments') ?? JSON.stringify(call['arguments']),
  };
}

/** A call opened and never closed would otherwise pass for plain text. */
function unfinishedCall(text: string): UnparsedToolCall[] {
  const openCount = text.split('<tool_call>').length - 1;
  const closeCount = text.split('</tool_call>').length - 1;
  if (openCount <= closeCount) return [];
  const rawText = text.slice(text.lastIndexOf('<tool_call>'));
  return [{ rawText, reason: 'Unterminated tool call: "<tool_call>" without a matching "</tool_call>"' }];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
