import { createHash } from 'node:crypto';
import type { ToolDeclaration } from '../core/completion';
import type { Message } from '../core/conversation';
import type { ConversationRow } from './dataset';
import { kindOf, readMessages, RowProblem } from './messages';
import { readTools } from './tools';

export { RowProblem } from './messages';

type Row = Readonly<Record<string, unknown>>;

/**
 * Reads one row in any of the shapes people have:
 * `messages` · `prompt` + `completion` (texts or lists of messages) · Alpaca's `instruction`, `input`, `output` ·
 * ShareGPT's `conversations`; with `tools`, where the model has any. Throws `RowProblem` naming the field.
 */
export function toConversation(value: unknown): ConversationRow {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RowProblem(`expected an object, got ${kindOf(value)}.`);
  }
  const row: Row = { ...value };
  const messages = readShape(row);
  if (messages.length === 0) throw new RowProblem('the conversation has no messages.');
  const tools = readTools(row['tools'], 'tools');
  return { id: conversationId(messages, tools), messages, ...(tools.length > 0 && { tools }) };
}

/** Content hash: independent of the order of fields and of the shape the row was written in. */
function conversationId(messages: readonly Message[], tools: readonly ToolDeclaration[]): string {
  const canonical = messages.map((message) => [
    message.role,
    message.content,
    message.name ?? null,
    message.toolCalls?.map((call) => [call.id ?? null, call.name, call.arguments]) ?? null,
    message.toolCallId ?? null,
    message.trainable ?? null,
  ]);
  const content = tools.length === 0 ? canonical : [canonical, tools];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 32);
}

function readShape(row: Row): Message[] {
  if (has(row, 'messages')) return readMessages(row['messages'], 'messages');
  if (has(row, 'conversations')) return readShareGpt(row);
  if (has(row, 'prompt') && has(row, 'completion')) {
    return [...readSide(row, 'prompt', 'user'), ...readSide(row, 'completion', 'assistant')];
  }
  if (has(row, 'instruction') && has(row, 'output')) return readAlpaca(row);
  const fields = Object.keys(row).slice(0, 8).join(', ');
  throw new RowProblem(
    `no known shape: expected "messages", "prompt" and "completion", "instruction" and "output", or "conversations", ` +
      `got the fields ${fields === '' ? '(none)' : fields}.`,
  );
}

function readSide(row: Row, field: 'prompt' | 'completion', role: string): Message[] {
  const value = row[field];
  if (typeof value === 'string') return [{ role, content: value }];
  if (Array.isArray(value)) return readMessages(value, field);
  throw new RowProblem(`field "${field}": expected text or a list of messages, got ${kindOf(value)}.`);
}

function readAlpaca(row: Row): Message[] {
  const instruction = readText(row, 'instruction');
  const input = has(row, 'input') ? readText(row, 'input') : '';
  const system: Message[] = has(row, 'system') ? [{ role: 'system', content: readText(row, 'system') }] : [];
  return [
    ...system,
    { role: 'user', content: input === '' ? instruction : `${instruction}\n\n${input}` },
    { role: 'assistant', content: readText(row, 'output') },
  ];
}

function readShareGpt(row: Row): Message[] {
  const system: Message[] = has(row, 'system') ? [{ role: 'system', content: readText(row, 'system') }] : [];
  return [...system, ...readMessages(row['conversations'], 'conversations')];
}

function readText(row: Row, field: string): string {
  const value = row[field];
  if (typeof value === 'string') return value;
  throw new RowProblem(`field "${field}": expected text, got ${kindOf(value)}.`);
}

function has(row: Row, field: string): boolean {
  return row[field] !== undefined && row[field] !== null;
}
