import type { ToolCall as WrittenCall } from '../../../core/conversation';
import { parseJsonObject } from '../../../stores/json-lines';
import type { StoredTurn } from '../../../stores/eval-store';
import { callsOfTurn } from '../../../stores/turn-calls';
import { identifierOf } from './identifiers';

interface ToolCall {
  readonly id: string;
  readonly function: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly type: 'function';
  /** What the model wrote where it is no JSON object. */
  readonly parse_error?: string;
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
  turn: StoredTurn,
  { id, model }: { readonly id: string; readonly model: string },
): SampleMessage {
  const { role, content, metadata } = turn;
  if (role === 'assistant') {
    const calls = callsOfTurn(turn).map((call, index) => calledTool(call, identifierOf(id, index)));
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

function calledTool({ id, name, arguments: written }: WrittenCall, ownId: string): ToolCall {
  const parsed = parseJsonObject<Record<string, unknown>>(written);
  return {
    id: id ?? ownId,
    function: name,
    arguments: parsed ?? {},
    type: 'function',
    ...(parsed === null &&
      written !== '' && { parse_error: `Arguments that are no JSON object: ${written}` }),
  };
}
