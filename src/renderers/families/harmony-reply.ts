import type { ContentPart, ToolCall } from '../../core/conversation';
import type { UnparsedToolCall } from '../renderer';
import type { ReadReply } from '../reply-blocks';
import { readCall, replyOf, separateCalls } from '../reply-blocks';

const RECIPIENT = 'to=functions.';
const MESSAGE = '<|message|>';

interface HarmonyMessage {
  readonly channel: string | null;
  /** Name of the tool it is sent to. */
  readonly tool: string | null;
  readonly body: string;
  readonly rawText: string;
}

/** Reads the messages of a Harmony reply; a text without any stays one text. */
export function parseHarmonyReply(text: string): ReadReply {
  const messages = text.split('<|end|>').flatMap(readMessage);
  const headers = text.split('<|end|>').filter((part) => !part.includes(MESSAGE) && part.includes(RECIPIENT));
  const calls = messages.flatMap(({ tool, body, rawText }): (ToolCall | UnparsedToolCall)[] =>
    tool === null ? [] : [readCall({ name: tool, arguments: body.trim() }, rawText)],
  );
  const unfinished = headers.map((rawText) => ({
    rawText,
    reason: `Unterminated tool call: "${RECIPIENT}" without arguments`,
  }));
  const read = separateCalls([...calls, ...unfinished]);
  const parts = messages.flatMap(partOf);
  return replyOf(messages.length === 0 && unfinished.length === 0 ? text : parts, read);
}

function readMessage(text: string): HarmonyMessage[] {
  const position = text.indexOf(MESSAGE);
  if (position < 0) return [];
  const header = text.slice(0, position);
  return [
    {
      channel: /<\|channel\|>([^<\s]+)/.exec(header)?.[1] ?? null,
      tool: /to=functions\.([^<\s]+)/.exec(header)?.[1] ?? null,
      body: text.slice(position + MESSAGE.length),
      rawText: text,
    },
  ];
}

function partOf({ channel, tool, body }: HarmonyMessage): ContentPart[] {
  if (tool !== null || body.trim() === '') return [];
  return channel === 'analysis' ? [{ type: 'thinking', thinking: body }] : [{ type: 'text', text: body }];
}
