import type { Message, ToolCall } from '../core/conversation';
import { fromJson } from './jinja/json';
import { isMap, UnwritableMap } from './jinja/values';
import { parseJson } from './reply-blocks';

interface ToolCallSpelling {
  readonly arguments: 'object' | 'text';
  /** Whether messages without tool calls have an empty list of them. */
  readonly hasEmptyLists: boolean;
}

/**
 * Templates differ in what they expect: most write arguments with `tojson`, some put their text into the prompt; most ask
 * whether there are calls, some loop over them unasked.
 */
export const TOOL_CALL_SPELLINGS: readonly ToolCallSpelling[] = [
  { arguments: 'object', hasEmptyLists: false },
  { arguments: 'text', hasEmptyLists: false },
  { arguments: 'object', hasEmptyLists: true },
  { arguments: 'text', hasEmptyLists: true },
];

/** Where templates look for reasoning; most know the first of them. */
const REASONING_FIELDS = ['reasoning_content', 'thinking', 'reasoning'] as const;
export type ReasoningField = (typeof REASONING_FIELDS)[number];

/** The field a template reads reasoning from: Harmony's calls it `thinking`. */
export function reasoningFieldOf(source: string): ReasoningField {
  const isRead = (field: string) => new RegExp(`\\.${field}\\b|["']${field}["']`).test(source);
  return REASONING_FIELDS.find(isRead) ?? 'reasoning_content';
}

/** How one template wants its messages. */
export interface TemplateSpelling extends ToolCallSpelling {
  readonly reasoning: ReasoningField;
}

/** A message as Hugging Face chat templates read it: reasoning beside the text, tool calls in OpenAI's nesting. */
export function toTemplateMessage(message: Message, spelling: TemplateSpelling): Record<string, unknown> {
  const reasoning = reasoningOf(message);
  const calls =
    message.toolCalls?.map((call) => toTemplateCall(call, spelling)) ?? (spelling.hasEmptyLists ? [] : null);
  return {
    role: message.role,
    content: textOf(message),
    ...(reasoning === '' ? {} : { [spelling.reasoning]: reasoning }),
    ...(message.name === undefined ? {} : { name: message.name }),
    ...(message.toolCallId === undefined ? {} : { tool_call_id: message.toolCallId }),
    ...(calls === null ? {} : { tool_calls: calls }),
  };
}

function toTemplateCall(
  { id, name, arguments: text }: ToolCall,
  spelling: ToolCallSpelling,
): Record<string, unknown> {
  const written = spelling.arguments === 'object' ? parsed(text) : text;
  return { type: 'function', ...(id === undefined ? {} : { id }), function: { name, arguments: written } };
}

function textOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function reasoningOf({ content }: Message): string {
  if (typeof content === 'string') return '';
  return content.map((part) => (part.type === 'thinking' ? part.thinking : '')).join('');
}

/** Text that is no JSON is handed on as it is. A template that puts the object into a text has to have its JSON. */
function parsed(text: string): unknown {
  if ('reason' in parseJson(text)) return text;
  const value = fromJson(text);
  return isMap(value) ? new UnwritableMap(value) : value;
}
