import { z } from 'zod';
import { callText } from '../core/call-text';
import type { Message, ToolCall } from '../core/conversation';
import type { StoredTurn } from './eval-files';

const aText = z.string().optional().catch(undefined);
const WORDS = { name: aText, arguments: z.unknown().optional() };
/** Our own form, or nested under `function` as other tools write calls. */
const CallShape = z.object({
  ...WORDS,
  id: aText,
  function: z.object(WORDS).optional().catch(undefined),
});
const Calls = z.array(CallShape.nullable().catch(null)).catch([]);

/** What a message says beside its text: its role, its calls, and of a tool which call it answers. */
export function turnMetadata({ role, name, toolCalls = [], toolCallId }: Message): StoredTurn['metadata'] {
  return {
    role,
    ...(name !== undefined && { name }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  };
}

/** Tools that a turn calls; none where its metadata has something else there. */
export function callsOfTurn({ metadata }: Pick<StoredTurn, 'metadata'>): ToolCall[] {
  return Calls.parse(metadata['tool_calls']).flatMap((call) => {
    if (call === null) return [];
    const { name = '', arguments: written } = call.function ?? call;
    return { ...(call.id !== undefined && { id: call.id }), name, arguments: argumentsText(written) };
  });
}

/** As `callsOfTurn`, a line each, for people to read. */
export function callLines(turn: Pick<StoredTurn, 'metadata'>): string[] {
  return callsOfTurn(turn).map(callText);
}

function argumentsText(written: unknown): string {
  if (written === undefined || written === null) return '';
  return typeof written === 'string' ? written : JSON.stringify(written);
}
