import { parseJsonObject } from '../../../stores/json-lines';
import type { StoredTurn } from '../../../stores/eval-store';
import { identifierOf } from './identifiers';

interface ToolCall {
  readonly id: string;
  readonly function: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly type: 'function';
}

/** Inspect's `ChatMessage`. */
export interface SampleMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant' | 'system' | 'tool';
  readonly content: string;
  readonly source?: 'input' | 'generate';
  readonly model?: string;
  readonly tool_calls?: readonly ToolCall[];
  /** Of a tool: what it is called, and which call it answers. */
  readonly function?: string;
  readonly tool_call_id?: string;
}

interface StoredCall {
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: string;
}

/** What was said, without what the grader said of it. Where nothing says which call a tool answered, it is the first that none has. */
export function messagesOf(
  turns: readonly StoredTurn[],
  { uuid, model }: { readonly uuid: string; readonly model: string },
): SampleMessage[] {
  let open: ToolCall[] = [];
  return turns
    .filter(({ role }) => role !== 'grader')
    .map((turn, index) => {
      const message = messageOf(turn, { id: identifierOf(uuid, index), model });
      if (message.role === 'assistant') open = [...(message.tool_calls ?? [])];
      if (message.role !== 'tool') return message;
      const { tool_call_id: answered = open[0]?.id, function: name } = message;
      const call = open.find(({ id }) => id === answered);
      open = open.filter((each) => each !== call);
      return {
        ...message,
        ...(answered !== undefined && { tool_call_id: answered }),
        ...(name === undefined && call && { function: call.function }),
      };
    });
}

function messageOf(
  { role, content, metadata }: StoredTurn,
  { id, model }: { readonly id: string; readonly model: string },
): SampleMessage {
  if (role === 'assistant') {
    const calls = toolCalls(metadata['tool_calls'], id);
    return {
      ...{ id, role, content, source: 'generate', model },
      ...(calls.length > 0 && { tool_calls: calls }),
    };
  }
  const { role: spoken, name, tool_call_id: answered } = metadata;
  if (spoken === 'tool') {
    return {
      ...{ id, role: 'tool', content },
      ...(typeof name === 'string' && { function: name }),
      ...(typeof answered === 'string' && { tool_call_id: answered }),
    };
  }
  if (spoken === 'system') return { id, role: 'system', content };
  return { id, role: 'user', content, ...(role === 'user' && { source: 'input' }) };
}

function toolCalls(given: unknown, messageId: string): ToolCall[] {
  if (!Array.isArray(given)) return [];
  return given.map((call: StoredCall, index) => ({
    id: call.id ?? identifierOf(messageId, index),
    function: call.name ?? '',
    arguments: parseJsonObject<Record<string, unknown>>(call.arguments ?? '') ?? {},
    type: 'function',
  }));
}
