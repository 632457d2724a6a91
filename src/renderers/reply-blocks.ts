import type { ContentPart, Message, ToolCall } from '../core/conversation';
import type { ParsedReply, UnparsedToolCall } from './renderer';

/** What a reply holds apart from how it ended. */
export type ReadReply = Omit<ParsedReply, 'termination'>;

export interface ReadCalls {
  readonly toolCalls: readonly ToolCall[];
  readonly unparsed: readonly UnparsedToolCall[];
}

const THINKING = /<think>(.*?)<\/think>/gs;

/** Splits a text at its `<think>` blocks; null where it opens none. Spaces are kept, empty blocks are not. */
export function splitThinking(text: string): ContentPart[] | null {
  if (!text.includes('<think>')) return null;
  const parts: ContentPart[] = [];
  let position = 0;
  for (const match of text.matchAll(THINKING)) {
    if (match.index > position) parts.push({ type: 'text', text: text.slice(position, match.index) });
    if (match[1]) parts.push({ type: 'thinking', thinking: match[1] });
    position = match.index + match[0].length;
  }
  if (position < text.length) parts.push({ type: 'text', text: text.slice(position) });
  return parts;
}

export function replyOf(content: Message['content'], { toolCalls, unparsed }: ReadCalls): ReadReply {
  return {
    message: {
      role: 'assistant',
      content,
      ...(toolCalls.length > 0 ? { toolCalls } : {}),
    },
    ...(unparsed.length > 0 ? { unparsedToolCalls: unparsed } : {}),
  };
}

/** A block opened and never closed would otherwise pass for plain text; the first kind that is found is told. */
export function unfinishedCall(
  text: string,
  markers: readonly (readonly [open: string, close: string])[],
): UnparsedToolCall[] {
  for (const [open, close] of markers) {
    if (text.split(open).length <= text.split(close).length) continue;
    return [
      {
        rawText: text.slice(text.lastIndexOf(open)),
        reason: `Unterminated tool call: "${open}" without a matching "${close}"`,
      },
    ];
  }
  return [];
}

/** A call whose arguments are JSON text of an object, or why it is none. */
export function readCall(
  call: { readonly name: string; readonly id?: string; readonly arguments: string },
  rawText: string,
): ToolCall | UnparsedToolCall {
  if (call.name === '') return { rawText, reason: 'Missing function name' };
  const value = parseJson(call.arguments);
  if ('reason' in value) return { rawText, reason: value.reason };
  if (!isRecord(value.value)) return { rawText, reason: 'Arguments are not a JSON object' };
  return call;
}

export function separateCalls(calls: readonly (ToolCall | UnparsedToolCall)[]): ReadCalls {
  return {
    toolCalls: calls.filter((call) => 'name' in call),
    unparsed: calls.filter((call) => 'rawText' in call),
  };
}

export function parseJson(text: string): { readonly value: unknown } | { readonly reason: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { reason: `Invalid JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
