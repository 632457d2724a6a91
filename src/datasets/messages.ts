import type { ContentPart, Message, ToolCall } from '../core/conversation';
import { jsonText } from '../core/json-source';

/** What is wrong with one row, naming the field. Internal: the loader adds file and line. */
export class RowProblem extends Error {}

export type Fields = Readonly<Record<string, unknown>>;

const SHAREGPT_ROLES = new Map([
  ['human', 'user'],
  ['user', 'user'],
  ['gpt', 'assistant'],
  ['chatgpt', 'assistant'],
  ['model', 'assistant'],
  ['assistant', 'assistant'],
  ['system', 'system'],
  ['tool', 'tool'],
  ['observation', 'tool'],
]);

/** A list of messages, in OpenAI's spelling (`tool_calls`), ours (`toolCalls`) or ShareGPT's (`from`, `value`). */
export function readMessages(value: unknown, field: string): Message[] {
  if (!Array.isArray(value))
    throw new RowProblem(`field "${field}": expected a list of messages, got ${kindOf(value)}.`);
  return value.map((item: unknown, index) => readMessage(item, `${field}[${index}]`));
}

const KINDS = new Map([
  ['undefined', 'nothing'],
  ['string', 'text'],
  ['number', 'number'],
  ['bigint', 'number'],
  ['boolean', 'true or false'],
]);

export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return KINDS.get(typeof value) ?? 'an object';
}

function readMessage(value: unknown, field: string): Message {
  const fields = readObject(value, field);
  if (has(fields, 'from')) return readShareGptMessage(fields, field);
  const role = readText(fields, 'role', field);
  if (role === '') throw new RowProblem(`field "${field}.role": expected a role, got empty text.`);
  const toolCalls = readToolCalls(fields['tool_calls'] ?? fields['toolCalls'], `${field}.tool_calls`);
  const toolCallId = optional(
    fields['tool_call_id'] ?? fields['toolCallId'],
    'string',
    `${field}.tool_call_id`,
  );
  const name = optional(fields['name'], 'string', `${field}.name`);
  const trainable = optional(fields['trainable'], 'boolean', `${field}.trainable`);
  return {
    role,
    content: readContent(fields, field, toolCalls.length > 0),
    ...(typeof name === 'string' ? { name } : {}),
    ...(toolCalls.length > 0 ? { toolCalls } : {}),
    ...(typeof toolCallId === 'string' ? { toolCallId } : {}),
    ...(typeof trainable === 'boolean' ? { trainable } : {}),
  };
}

function readShareGptMessage(fields: Fields, field: string): Message {
  const from = readText(fields, 'from', field);
  const role = SHAREGPT_ROLES.get(from.toLowerCase());
  if (role) return { role, content: readText(fields, 'value', field) };
  throw new RowProblem(
    `field "${field}.from": expected ${[...SHAREGPT_ROLES.keys()].join(', ')}, got "${from}".`,
  );
}

function readContent(fields: Fields, field: string, mayBeEmpty: boolean): Message['content'] {
  const { content } = fields;
  const reasoning = optional(fields['reasoning_content'], 'string', `${field}.reasoning_content`);
  const body = (content === null || content === undefined) && mayBeEmpty ? '' : content;
  const parts = typeof body === 'string' ? body : readParts(body, `${field}.content`);
  if (typeof reasoning !== 'string' || reasoning === '') return parts;
  const rest: readonly ContentPart[] = typeof parts === 'string' ? [{ type: 'text', text: parts }] : parts;
  return [{ type: 'thinking', thinking: reasoning }, ...rest];
}

function readParts(value: unknown, field: string): ContentPart[] {
  if (!Array.isArray(value)) throw new RowProblem(`field "${field}": expected text, got ${kindOf(value)}.`);
  return value.map((item: unknown, index): ContentPart => {
    const at = `${field}[${index}]`;
    const part = readObject(item, at);
    const type = readText(part, 'type', at);
    if (type === 'text') return { type, text: readText(part, 'text', at) };
    if (type === 'thinking') return { type, thinking: readText(part, 'thinking', at) };
    throw new RowProblem(`field "${at}.type": expected text or thinking, got "${type}".`);
  });
}

function readToolCalls(value: unknown, field: string): ToolCall[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new RowProblem(`field "${field}": expected a list, got ${kindOf(value)}.`);
  return value.map((item: unknown, index) => readToolCall(item, `${field}[${index}]`));
}

/** OpenAI nests name and arguments under `function`; the arguments are JSON text, or an object in some datasets. */
function readToolCall(value: unknown, field: string): ToolCall {
  const fields = readObject(value, field);
  const isNested = has(fields, 'function');
  const call = isNested ? readObject(fields['function'], `${field}.function`) : fields;
  const at = isNested ? `${field}.function` : field;
  const id = optional(fields['id'], 'string', `${field}.id`);
  return {
    ...(typeof id === 'string' ? { id } : {}),
    name: readText(call, 'name', at),
    arguments: readArguments(call['arguments'], `${at}.arguments`),
  };
}

function readArguments(value: unknown, field: string): string {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return jsonText(value);
  if (typeof value !== 'string')
    throw new RowProblem(`field "${field}": expected JSON text, got ${kindOf(value)}.`);
  if (kindOfJson(value, field) === 'an object') return value;
  throw new RowProblem(
    `field "${field}": expected JSON text of an object, got that of ${kindOfJson(value, field)}.`,
  );
}

function kindOfJson(text: string, field: string): string {
  try {
    return kindOf(JSON.parse(text));
  } catch {
    throw new RowProblem(`field "${field}": expected JSON text, got text that is not valid JSON.`);
  }
}

export function readObject(value: unknown, field: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new RowProblem(`field "${field}": expected an object, got ${kindOf(value)}.`);
}

export function readText(fields: Fields, name: string, field: string): string {
  const value = fields[name];
  if (typeof value === 'string') return value;
  throw new RowProblem(`field "${field}.${name}": expected text, got ${kindOf(value)}.`);
}

function optional(value: unknown, type: 'string' | 'boolean', field: string): unknown {
  if (value === undefined || value === null || typeof value === type) return value;
  throw new RowProblem(
    `field "${field}": expected ${type === 'string' ? 'text' : 'true or false'}, got ${kindOf(value)}.`,
  );
}

function has(fields: Fields, name: string): boolean {
  return fields[name] !== undefined && fields[name] !== null;
}
