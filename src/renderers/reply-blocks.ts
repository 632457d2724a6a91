import type { ContentPart, Message, ToolCall } from '../core/conversation';
import type { ParsedReply, UnparsedToolCall } from './renderer';

/** What a reply holds apart from how it ended. */
export type ReadReply = Omit<ParsedReply, 'termination'>;

export interface ReadCalls {
  readonly toolCalls: readonly ToolCall[];
  readonly unparsed: readonly UnparsedToolCall[];
}

/** What opens and closes a block. */
export type Marks = readonly [open: string, close: string];

export interface Block {
  readonly open: string;
  readonly inner: string;
  readonly start: number;
  readonly end: number;
}

export const THINKING: Marks = ['<think>', '</think>'];

/** Whether what stands in a block is all of it, or its closing mark is a word within. */
export type IsWhole = (open: string, inner: string) => boolean;

/** Closing marks that are tried before the first of them is taken: a model that lost its way writes thousands. */
const CLOSINGS_TRIED = 16;

/**
 * Closed blocks in the order they begin; whichever begins first holds the others. One pass, because a model that lost
 * its way opens the same block thousands of times.
 */
export function findBlocks(text: string, marks: readonly Marks[], isWhole: IsWhole = () => true): Block[] {
  const blocks: Block[] = [];
  let position = 0;
  let openings = marks.map(([open, close]) => ({ open, close, start: text.indexOf(open) }));
  for (;;) {
    openings = openings
      .map((one) => (one.start < position ? { ...one, start: text.indexOf(one.open, position) } : one))
      .filter((one) => one.start >= 0)
      .sort((a, b) => a.start - b.start);
    const [first, ...others] = openings;
    if (!first) return blocks;
    const innerStart = first.start + first.open.length;
    const innerEnd = endOfInner(text, { ...first, start: innerStart }, isWhole);
    if (innerEnd < 0) {
      openings = others;
      continue;
    }
    position = innerEnd + first.close.length;
    blocks.push({
      open: first.open,
      inner: text.slice(innerStart, innerEnd),
      start: first.start,
      end: position,
    });
  }
}

/** Where the first whole content ends; where none is whole, at the first closing mark; -1 without one. */
function endOfInner(
  text: string,
  { open, close, start }: { readonly open: string; readonly close: string; readonly start: number },
  isWhole: IsWhole,
): number {
  const first = text.indexOf(close, start);
  let end = first;
  for (let tried = 0; end >= 0 && tried < CLOSINGS_TRIED; tried += 1) {
    if (isWhole(open, text.slice(start, end))) return end;
    end = text.indexOf(close, end + close.length);
  }
  return first;
}

/** What stands around blocks. */
export function textAround(text: string, blocks: readonly Block[]): string[] {
  const starts = [0, ...blocks.map((block) => block.end)];
  return starts.map((start, index) => text.slice(start, blocks[index]?.start));
}

/** Splits a text at its `<think>` blocks; null where it opens none. */
export function splitThinking(text: string): ContentPart[] | null {
  return text.includes('<think>') ? partsAround(text, findBlocks(text, [THINKING])) : null;
}

/** A reply to a prompt that opened its reasoning block, which only closes it, with `opening` in front; any other as it is. */
export function withOpenedBlock(text: string, opening: string = THINKING[0]): string {
  const [open, close] = [text.indexOf(THINKING[0]), text.indexOf(THINKING[1])];
  return close >= 0 && (open < 0 || close < open) ? opening + text : text;
}

/** The text around blocks and the reasoning in them. Spaces are kept, empty parts are not. */
export function partsAround(text: string, blocks: readonly Block[]): ContentPart[] {
  return textAround(text, blocks).flatMap((around, index): ContentPart[] => {
    const block = blocks[index];
    const thinking = block?.open === THINKING[0] ? block.inner : '';
    return [
      ...(around === '' ? [] : [{ type: 'text' as const, text: around }]),
      ...(thinking === '' ? [] : [{ type: 'thinking' as const, thinking }]),
    ];
  });
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
export function unfinishedCall(text: string, markers: readonly Marks[]): UnparsedToolCall[] {
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

/** The calls of a section, and what else stands in it. */
export function readCallBlocks(
  section: string,
  marks: Marks,
  read: (inner: string, rawText: string) => ToolCall | UnparsedToolCall,
): (ToolCall | UnparsedToolCall)[] {
  const blocks = findBlocks(section, [marks]);
  const calls = blocks.map(({ inner, start, end }) => read(inner, section.slice(start, end)));
  const rest = textAround(section, blocks).join('').split(marks[0])[0]?.trim() ?? '';
  return rest === '' ? calls : [...calls, { rawText: rest, reason: 'Text between tool calls' }];
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
