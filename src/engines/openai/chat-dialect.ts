import type { CompletionRequest } from '../../core/completion';
import type { Message, ToolCall } from '../../core/conversation';
import { splitThinking } from '../../core/reasoning';
import type { JsonObject } from './answer-fields';
import { isObject, jsonTextOf, objectAt, textAt } from './answer-fields';
import { chatMessages, chatTools } from './chat-messages';
import type { ChoiceCompletion, Dialect, MaxTokensField } from './dialect';
import { samplingFields } from './dialect';
import { contentFrom, withThinking } from './thinking';

interface ReadCalls {
  readonly calls: readonly ToolCall[];
  readonly isMalformed: boolean;
}

/** `maxTokensField` is asked at every request: what a server wants is learned from its refusal. */
export function chatDialect(maxTokensField: () => MaxTokensField): Dialect {
  return {
    path: '/chat/completions',
    body: (request: CompletionRequest, model: string): JsonObject => ({
      model,
      messages: chatMessages(request.messages),
      [maxTokensField()]: request.params.maxTokens,
      ...samplingFields(request),
      tools: chatTools(request.tools),
    }),
    faultOf,
    read: readChoice,
  };
}

/** Roles of whoever is not the model: an answer with one of them is an echo. */
const OTHERS = new Set<unknown>(['user', 'system', 'developer', 'tool', 'function']);

function faultOf({ message }: JsonObject): string | null {
  if (!isObject(message)) return 'message is no object';
  const { content, role } = message;
  if (OTHERS.has(role)) return `message.role is "${String(role)}" where the model answers`;
  if (content === null || content === undefined || typeof content === 'string') return null;
  if (!Array.isArray(content)) return 'message.content is neither a text nor a list of parts';
  return content.every(isPart) ? null : 'message.content has a part that is none';
}

/** Parts that are no text, such as pictures, have other fields. */
function isPart(part: unknown): boolean {
  return isObject(part) && (part['text'] === undefined || typeof part['text'] === 'string');
}

function readChoice(choice: JsonObject, withoutKey: (text: string) => string): ChoiceCompletion {
  const answer = objectAt(choice, 'message') ?? {};
  // Its parts were looked through one by one.
  const said = withoutKey(saidIn(answer));
  const apart = textAt(answer, 'reasoning_content') ?? textAt(answer, 'reasoning');
  const split = apart ? { thinking: apart, text: said, isOpen: false } : splitThinking(said);
  const { calls, isMalformed } = readToolCalls(answer);
  const message: Message = {
    role: 'assistant',
    content: contentFrom(split.thinking, split.text),
    ...(calls.length > 0 && { toolCalls: calls }),
  };
  const isUnfinished = split.isOpen && choice['finish_reason'] === 'stop';
  return {
    message,
    rawText: apart ? withThinking(apart, said) : said,
    ...((isMalformed || isUnfinished) && { isMalformed: true }),
    ...(isRefusal(answer) && { isRefusal: true }),
  };
}

/** Some servers send an empty one with every answer. */
function isRefusal(answer: JsonObject): boolean {
  return Boolean(textAt(answer, 'refusal'));
}

/** A text, a list of text parts, or a refusal in its place. */
function saidIn(answer: JsonObject): string {
  const { content } = answer;
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map((part) => textAt(part, 'text') ?? '').join('');
  return textAt(answer, 'refusal') ?? '';
}

function readToolCalls(answer: JsonObject): ReadCalls {
  const { tool_calls: listed, function_call: legacy } = answer;
  const written: unknown[] = [
    ...(Array.isArray(listed) ? listed : writtenAlone(listed)),
    ...writtenAlone(legacy).map((call) => ({ function: call })),
  ];
  const read = written.map(readToolCall);
  const calls = read.filter((call) => call !== null);
  return { calls, isMalformed: calls.length < written.length };
}

/** Some servers write null, or an empty text, where there is no call. */
function writtenAlone(value: unknown): readonly unknown[] {
  return value === null || value === undefined || value === '' ? [] : [value];
}

function readToolCall(row: unknown): ToolCall | null {
  const call = objectAt(row, 'function');
  const name = textAt(call, 'name');
  if (!call || name === null || name === '') return null;
  const id = textAt(row, 'id');
  const written = argumentsIn(call);
  if (written === null) return null;
  return { name, arguments: written, ...(id !== null && id !== '' && { id }) };
}

/** Some servers give the object itself in place of its JSON text, or nothing where there are no arguments. */
function argumentsIn(call: JsonObject): string | null {
  const given = call['arguments'];
  return isObject(given) ? jsonTextOf(given) : textAt(call, 'arguments') || '{}';
}
