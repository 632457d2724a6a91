import type { ToolDeclaration } from '../../core/completion';
import type { Message, ToolCall } from '../../core/conversation';
import type { JsonLayout } from '../jinja/json';
import { fromJson, toJson } from '../jinja/json';
import { strip, stripEnd, textOf as textOfValue } from '../jinja/python-text';
import type { Value } from '../jinja/values';
import { isList, isMap } from '../jinja/values';
import type { MessageFormat, MessagePlace } from '../message-format';
import { hasThinking, textOf, thinkingOf } from '../message-text';
import { isRecord } from '../reply-blocks';
import { chatmlReasoningFormat, hasText, hasThinkingPart, withSystemMessage } from './chatml-reasoning';
import { parseXmlReply } from './qwen3-5';
import type { Schema } from './schema-properties';
import { memberJson, membersOf } from './schema-properties';
import { declareXmlTools, writeXmlCall } from './xml-tool-calls';

/** Nano and Super are of the first generation; Ultra and 3.5 Lightning write no line breaks around `</think>`. */
export type Nemotron3Generation = 'nemotron3' | 'nemotron3_ultra';
export type Nemotron3Mode = 'thinking' | 'low' | 'medium' | 'disabled' | 'preserved';

const SUFFIXES: Record<Nemotron3Mode, string> = {
  thinking: '',
  low: '_low_thinking',
  medium: '_medium_thinking',
  disabled: '_disable_thinking',
  preserved: '_preserve_thinking',
};

/** Added to the last user message. */
const EFFORTS: Partial<Record<Nemotron3Mode, string>> = {
  low: '\n\n{reasoning effort: low}',
  medium: '\n\n{reasoning effort: efficient}',
};

/** `tojson` as transformers has it. */
const TO_JSON: JsonLayout = {
  indent: null,
  itemSeparator: ', ',
  keySeparator: ': ',
  sortsKeys: false,
  isAscii: false,
};

const EMPTY_BLOCK = '<think></think>';

/**
 * Nemotron 3. A reply whose reasoning is not written begins with `<think></think>`, also after a prompt that opens
 * `<think>\n`: so does the model's own template.
 */
export function nemotron3Format(generation: Nemotron3Generation, mode: Nemotron3Mode): MessageFormat {
  const isUltra = generation === 'nemotron3_ultra';
  const keepsThinking = (place: MessagePlace) => mode === 'preserved' || place.index >= place.lastUserIndex;
  return chatmlReasoningFormat({
    name: generation + SUFFIXES[mode],
    hasExtensionProperty: mode === 'preserved',
    opening: mode === 'disabled' ? EMPTY_BLOCK : '<think>\n',
    refusesReasoning: mode === 'disabled',
    writesWholeTools: false,
    closing: (message) => {
      const endsReply = !hasText(message) && !message.toolCalls?.length;
      return isUltra ? '</think>' : `\n</think>${endsReply ? '' : '\n'}`;
    },
    keepsThinking,
    emptyBlock: (message, place) => {
      if (!hasThinking(message)) return closesThinking(message) ? '' : EMPTY_BLOCK;
      if (keepsThinking(place)) return '';
      const keepsLineBreak = !isUltra && hasText(message) && !message.toolCalls?.length;
      return EMPTY_BLOCK + (keepsLineBreak ? '\n' : '');
    },
    writeCalls: (calls, message) => {
      const endsWithLineBreak = !isUltra && hasThinkingPart(message) && !hasText(message);
      return (endsWithLineBreak ? '' : '\n') + writeCalls(calls);
    },
    toolResponse: { end: '\n', next: '' },
    prepareMessages: (messages) => withEffort(withSystem(messages), EFFORTS[mode] ?? ''),
    trimMessage: (message, place) => trimReply(message, keepsThinking(place)),
    parseReply: parseXmlReply,
    declareTools,
  });
}

/** The template trims replies only, as a whole: the space between a reasoning block and the words stays. */
function trimReply(message: Message, keepsThinking: boolean): Message {
  if (message.role !== 'assistant') return message;
  const trim = (text: string) => (message.toolCalls?.length && !keepsThinking ? strip(text) : stripEnd(text));
  if (typeof message.content === 'string') {
    const text = keepsThinking ? message.content : afterThinking(message.content);
    return { ...message, content: text.includes('think>') ? strip(text) : trim(text) };
  }
  const [thinking, text] = [thinkingOf(message), trim(textOf(message))];
  if (strip(thinking) === '') return { ...message, content: text };
  const words = text === '' ? [] : [{ type: 'text' as const, text }];
  return { ...message, content: [{ type: 'thinking', thinking }, ...words] };
}

function afterThinking(text: string): string {
  return text.includes('<think>') ? (text.split('</think>').at(-1) ?? '') : text;
}

/** Whether a reply continues a block that its prompt opened. */
function closesThinking({ content }: Message): boolean {
  return typeof content === 'string' && content.includes('</think>');
}

function writeCalls(calls: readonly ToolCall[]): string {
  return calls.map((call) => `${writeXmlCall(call, 'python')}\n`).join('');
}

/** The template writes a system message even where there is none. */
function withSystem(messages: readonly Message[]): readonly Message[] {
  return messages[0]?.role === 'system' ? messages : withSystemMessage(messages, '');
}

function withEffort(messages: readonly Message[], effort: string): readonly Message[] {
  const last = messages.findLastIndex((message) => message.role === 'user');
  if (effort === '' || last < 0) return messages;
  return messages.map((message, index) => (index === last ? withNote(message, effort) : message));
}

function withNote(message: Message, note: string): Message {
  if (typeof message.content === 'string') return { ...message, content: message.content + note };
  return { ...message, content: [...message.content, { type: 'text', text: note }] };
}

function declareTools(tools: readonly ToolDeclaration[], systemPrompt: string): Message[] {
  const declaration = tools.length === 0 ? '' : declareXmlTools(tools.map(declareTool));
  const content = [systemPrompt, declaration].filter((text) => text !== '').join('\n\n');
  return [{ role: 'system', content }];
}

function declareTool({ name, description, parameters = {} }: ToolDeclaration): string {
  const { properties, required } = parameters;
  return [
    '<function>',
    tag('name', name),
    ...(description === undefined ? [] : [tag('description', strip(description))]),
    '<parameters>',
    ...(isRecord(properties) ? membersOf(properties).flatMap(declareParameter) : []),
    ...tagsOf(parameters, ['properties', 'required', 'type']),
    ...(required === undefined ? [] : [tag('required', asJson(valueOf(parameters, 'required')))]),
    '</parameters>',
    '</function>',
  ].join('\n');
}

function declareParameter([name, schema]: [string, unknown]): string[] {
  const fields = isRecord(schema) ? schema : {};
  const written = (field: string, write: (value: Value) => string) =>
    fields[field] === undefined ? [] : [tag(field, write(valueOf(fields, field)))];
  return [
    '<parameter>',
    tag('name', name),
    ...written('type', textOfValue),
    ...written('description', (value) => strip(textOfValue(value))),
    ...written('enum', asJson),
    ...tagsOf(fields, ['name', 'type', 'description', 'enum']),
    '</parameter>',
  ];
}

/** Lists and objects as JSON, the rest by `str`. */
function tagsOf(fields: Schema, handled: readonly string[]): string[] {
  return membersOf(fields)
    .filter(([name]) => !handled.includes(name))
    .map(([name]) => {
      const value = valueOf(fields, name);
      return tag(name, isMap(value) || isList(value) ? asJson(value) : textOfValue(value));
    });
}

/** A member as the template has it, which is Python. */
function valueOf(fields: Schema, name: string): Value {
  return fromJson(memberJson(fields, name));
}

function asJson(value: Value): string {
  return toJson(value, TO_JSON);
}

function tag(name: string, text: string): string {
  return `<${name}>${text}</${name}>`;
}
