import type { ContentPart, Message, ToolCall } from '../core/conversation';
import { jsonText } from '../core/json-source';
import { nearestKey } from '../core/nearest-key';
import { firstRepeated } from './first-repeated';
import {
  isFields,
  listIn,
  parsedJson,
  parsedOrNull,
  requireJson,
  requireShallow,
  requireSingleKeys,
} from './json-fields';
import { NO_KEYS, requireKnownKeys } from './known-keys';
import { LOSS_KEYS, readReasoning, readTrainable, REASONING_KEYS } from './message-marks';
import type { Fields } from './kind-of';
import { kindOf } from './kind-of';
import { RowProblem } from './row-problem';

/** Words for the same roles, in any capitals. */
const ROLES = new Map([
  ['human', 'user'],
  ['user', 'user'],
  ['gpt', 'assistant'],
  ['chatgpt', 'assistant'],
  ['model', 'assistant'],
  ['assistant', 'assistant'],
  ['system', 'system'],
  ['developer', 'system'],
  ['tool', 'tool'],
  ['function', 'tool'],
  ['observation', 'tool'],
  // Written under their own names: the answers of Llama 3's tools, and Kimi's declarations.
  ['ipython', 'ipython'],
  ['tool_declare', 'tool_declare'],
]);

/** Of whoever is no tool. */
const SPOKEN_ROLES = ['user', 'assistant', 'system'];

const MESSAGE_KEYS: readonly string[] = [
  ...['name', 'tool_calls', 'toolCalls', 'tool_call_id', 'toolCallId', 'function_call'],
  ...LOSS_KEYS,
  ...REASONING_KEYS,
];
const OPENAI_KEYS = ['role', 'content', ...MESSAGE_KEYS];
const SHAREGPT_KEYS = ['from', 'value', ...MESSAGE_KEYS];
const CALL_KEYS = ['id', 'type', 'function'];
const NAMED_CALL_KEYS = ['name', 'arguments'];

/**
 * A list of messages, in OpenAI's spelling (`tool_calls`), ours (`toolCalls`) or ShareGPT's (`from`, `value`). Every key of
 * a message is read or refused, except those in `ignored` and those that say nothing to a model.
 */
export function readMessages(value: unknown, field: string, ignored = NO_KEYS): Message[] {
  return readList(listIn(value, field), field, (item, at) =>
    readMessage(item, { field: at, ignored }, roleOf),
  );
}

/** As `readMessages`, but a `role` is left as it stands, whether or not data sets know it. */
export function readMessagesOfAnyRole(value: unknown, field: string): Message[] {
  return readList(value, field, (item, at) => readMessage(item, { field: at, ignored: NO_KEYS }, anyRole));
}

function readList(value: unknown, field: string, read: (item: unknown, field: string) => Message): Message[] {
  if (!Array.isArray(value))
    throw new RowProblem(`field "${field}": expected a list of messages, got ${kindOf(value)}.`);
  return value.map((item: unknown, index) => read(item, `${field}[${index}]`));
}

function readMessage(value: unknown, { field, ignored }: MessagePlace, readRole: typeof roleOf): Message {
  const given = readObject(value, field);
  const isShareGpt = has(given, 'from');
  const fields = withWrittenCalls(given, isShareGpt ? ['from', 'value'] : ['role', 'content'], field);
  requireKnownKeys(fields, { field, known: isShareGpt ? SHAREGPT_KEYS : OPENAI_KEYS, ignored });
  const role = readRole(fields, isShareGpt ? 'from' : 'role', field);
  const toolCalls = readCalls(fields, { field, ignored });
  const toolCallId = callIdOf(fields, role, field);
  const name = nameOf(fields, role, { field, ignored });
  const trainable = readTrainable(fields, field);
  const content = readContent(fields, isShareGpt ? 'value' : 'content', {
    ...{ field, ignored, mayBeEmpty: toolCalls.length > 0 },
  });
  return {
    role,
    content: withReasoning(content, readReasoning(fields, field)),
    ...(name !== undefined && { name }),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(trainable !== undefined && { trainable }),
  };
}

/** One of no known meaning would be written as it stands, and a misspelt reply trained by nobody. */
function roleOf(fields: Fields, key: string, field: string): string {
  const given = readText(fields, key, field);
  const role = ROLES.get(given.toLowerCase());
  if (role) return role;
  const known = [...ROLES.keys()];
  const nearest = nearestKey(given, known);
  throw new RowProblem(
    `field "${field}.${key}": expected ${known.join(', ')}, got ${given === '' ? 'empty text' : `"${given.slice(0, 80)}"`}.` +
      (nearest === undefined ? ' What the model says is of role assistant.' : ` Did you mean "${nearest}"?`),
  );
}

function anyRole(fields: Fields, key: string, field: string): string {
  const given = readText(fields, key, field);
  return key === 'role' && given !== '' ? given : roleOf(fields, key, field);
}

/** ShareGPT's role of a message that is a call: its words are the JSON of one or of several. */
const CALLING_ROLE = 'function_call';

function withWrittenCalls(fields: Fields, [role, content]: readonly [string, string], field: string): Fields {
  const given = fields[role];
  if (typeof given !== 'string' || given.toLowerCase() !== CALLING_ROLE) return fields;
  const written = parsedCalls(fields[content]);
  if (written !== null) requireSingleKeys(String(fields[content]), written, `${field}.${content}`);
  if (written === null || 'tool_calls' in fields || 'toolCalls' in fields) {
    throw new RowProblem(
      `field "${field}.${content}": expected the JSON of a call with "name" and "arguments", or a list of them, because the message is of role ${CALLING_ROLE}.`,
    );
  }
  return { ...fields, [role]: 'assistant', [content]: '', tool_calls: written };
}

function parsedCalls(text: unknown): readonly unknown[] | null {
  const value = typeof text === 'string' ? parsedOrNull(text) : null;
  if (Array.isArray(value)) return value.length === 0 ? null : value;
  return isFields(value) ? [value] : null;
}

/** Of a tool's answer alone: elsewhere it would say nothing. */
function callIdOf(fields: Fields, role: string, field: string): string | undefined {
  const id = optionalText(fields['tool_call_id'] ?? fields['toolCallId'], `${field}.tool_call_id`);
  if (id === undefined || id === '' || !SPOKEN_ROLES.includes(role)) return id;
  throw new RowProblem(
    `field "${field}.tool_call_id": a message of role ${role} answers no call. Remove it, or give the message the role tool.`,
  );
}

/** Of a tool it says whose answer it is, and is read in any case. */
function nameOf(fields: Fields, role: string, { field, ignored }: MessagePlace): string | undefined {
  if (role !== 'tool' && ignored.has('name')) return undefined;
  return optionalText(fields['name'], `${field}.name`);
}

interface MessagePlace {
  readonly field: string;
  readonly ignored: ReadonlySet<string>;
}

function readContent(
  fields: Fields,
  key: 'content' | 'value',
  { field, ignored, mayBeEmpty }: MessagePlace & { readonly mayBeEmpty: boolean },
): Message['content'] {
  const content = fields[key];
  if (typeof content === 'string') return content;
  if (mayBeEmpty && (content === null || content === undefined)) return '';
  return readParts(content, `${field}.${key}`, ignored);
}

function withReasoning(content: Message['content'], reasoning: string): Message['content'] {
  if (reasoning === '') return content;
  const rest: readonly ContentPart[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return [{ type: 'thinking', thinking: reasoning }, ...rest];
}

function readParts(value: unknown, field: string, ignored: ReadonlySet<string>): ContentPart[] {
  if (!Array.isArray(value)) throw new RowProblem(`field "${field}": expected text, got ${kindOf(value)}.`);
  return value.map((item: unknown, index): ContentPart => {
    const at = `${field}[${index}]`;
    const part = readObject(item, at);
    const type = readText(part, 'type', at);
    if (type === 'text' || type === 'thinking') {
      requireKnownKeys(part, { field: at, known: ['type', type], ignored });
      const text = readText(part, type, at);
      return type === 'text' ? { type, text } : { type, thinking: text };
    }
    throw new RowProblem(`field "${at}.type": expected text or thinking, got "${type}".`);
  });
}

/** OpenAI's list of calls, or the one call of its older files. */
function readCalls(fields: Fields, { field, ignored }: MessagePlace): ToolCall[] {
  const calls = readToolCalls(fields['tool_calls'] ?? fields['toolCalls'], {
    ...{ field: `${field}.tool_calls`, ignored },
  });
  if (!has(fields, 'function_call')) return calls;
  if (calls.length > 0) {
    throw new RowProblem(
      `fields "${field}.tool_calls" and "${field}.function_call" both call. Keep one of them.`,
    );
  }
  return [readToolCall(fields['function_call'], { field: `${field}.function_call`, ignored })];
}

function readToolCalls(value: unknown, { field, ignored }: MessagePlace): ToolCall[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new RowProblem(`field "${field}": expected a list, got ${kindOf(value)}.`);
  const calls = value.map((item: unknown, index) =>
    readToolCall(item, { field: `${field}[${index}]`, ignored }),
  );
  const ids = calls.flatMap(({ id }) => (id === undefined || id === '' ? [] : [id]));
  const twice = firstRepeated(ids);
  if (twice === undefined) return calls;
  throw new RowProblem(`field "${field}": two calls have the id "${twice}". Give each its own.`);
}

/** OpenAI nests name and arguments under `function`; the arguments are JSON text, or an object in some datasets. */
function readToolCall(value: unknown, { field, ignored }: MessagePlace): ToolCall {
  const fields = readObject(value, field);
  const isNested = has(fields, 'function');
  const known = isNested ? CALL_KEYS : [...CALL_KEYS, ...NAMED_CALL_KEYS];
  requireKnownKeys(fields, { field, known, ignored });
  if (has(fields, 'type') && fields['type'] !== 'function') {
    throw new RowProblem(
      `field "${field}.type": expected "function", got ${JSON.stringify(fields['type'])}.`,
    );
  }
  const at = isNested ? `${field}.function` : field;
  const call = isNested ? readObject(fields['function'], at) : fields;
  if (isNested) requireKnownKeys(call, { field: at, known: NAMED_CALL_KEYS, ignored });
  const id = optionalText(fields['id'], `${field}.id`);
  return {
    ...(id !== undefined && { id }),
    name: readName(call, at),
    arguments: readArguments(call['arguments'], `${at}.arguments`),
  };
}

function readArguments(value: unknown, field: string): string {
  if (isFields(value)) {
    requireJson(value, field);
    return jsonText(value);
  }
  if (typeof value !== 'string')
    throw new RowProblem(`field "${field}": expected JSON text, got ${kindOf(value)}.`);
  if (value.trim() === '') {
    throw new RowProblem(
      `field "${field}": expected JSON text, got empty text. A call without arguments has "{}".`,
    );
  }
  const said = parsedJson(value, field);
  if (!isFields(said)) {
    throw new RowProblem(`field "${field}": expected JSON text of an object, got that of ${kindOf(said)}.`);
  }
  requireShallow(said, field);
  requireSingleKeys(value, said, field);
  return value;
}

/** Of a call or a declared tool. */
export function readName(fields: Fields, field: string): string {
  const name = readText(fields, 'name', field);
  if (name.trim() !== '') return name;
  throw new RowProblem(`field "${field}.name": expected the name of a tool, got empty text.`);
}

export function readObject(value: unknown, field: string): Fields {
  if (isFields(value)) return { ...value };
  throw new RowProblem(`field "${field}": expected an object, got ${kindOf(value)}.`);
}

export function readText(fields: Fields, name: string, field: string): string {
  const value = fields[name];
  if (typeof value === 'string') return value;
  throw new RowProblem(`field "${field}.${name}": expected text, got ${kindOf(value)}.`);
}

function optionalText(value: unknown, field: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw new RowProblem(`field "${field}": expected text, got ${kindOf(value)}.`);
}

function has(fields: Fields, name: string): boolean {
  return fields[name] !== undefined && fields[name] !== null;
}
