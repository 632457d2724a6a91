import { createHash } from 'node:crypto';
import type { ToolDeclaration } from '../core/completion';
import type { Message } from '../core/conversation';
import type { ConversationRow } from './dataset';
import type { FieldNames } from './field-names';
import { calledInRows, withReadNames } from './field-names';
import { isFields, listIn, parsedOrNull, requireSingleKeys } from './json-fields';
import { NO_KEYS, requireKnownKeys } from './known-keys';
import { kindOf } from './kind-of';
import type { ReplyUse } from './judged-rows';
import { requireQuestion, requireReply } from './judged-rows';
import { readMessages } from './messages';
import { whyNoShape } from './no-shape';
import { refusePreferences } from './preferences';
import { ProblemInRowNames, RowProblem } from './row-problem';
import { readRubric } from './rubric';
import { readTools } from './tools';

type Row = Readonly<Record<string, unknown>>;

/** One way to write a conversation. */
interface Shape {
  /** Fields without which a row is not of the shape. */
  readonly needs: readonly string[];
  readonly may: readonly string[];
  readonly read: (row: Row, ignored: ReadonlySet<string>) => Message[];
}

const SHAPES: readonly Shape[] = [
  {
    needs: ['messages'],
    may: [],
    read: (row, ignored) => readMessages(row['messages'], 'messages', ignored),
  },
  {
    needs: ['conversations'],
    may: [],
    read: (row, ignored) => readMessages(row['conversations'], 'conversations', ignored),
  },
  {
    needs: ['prompt', 'completion'],
    may: [],
    read: readSides,
  },
  { needs: ['instruction', 'output'], may: ['input'], read: readAlpaca },
];

/** What rows of every shape may hold beside their conversation. */
const SYSTEM_KEYS = ['system', 'system_prompt'];
const TOOL_KEYS = ['tools', 'functions'];
const COMMON_KEYS = [...SYSTEM_KEYS, ...TOOL_KEYS, 'history'];

/** How the rows of a dataset are read. */
export interface RowReading {
  /** Keys that say nothing. */
  readonly ignored?: ReadonlySet<string>;
  /** By what a field is read as, what the row calls it. */
  readonly fields?: FieldNames;
  /** Each row has to have the items that a judge scores it by; elsewhere they are a field that nobody reads. */
  readonly rubrics?: boolean;
  /** Each row has to end with a reply, because a judge compares with it. */
  readonly needsReply?: ReplyUse | null;
  /** Each row has to ask something before that. */
  readonly needsQuestion?: boolean;
}

/**
 * Reads one row in any of the shapes people have:
 * `messages` · `prompt` + `completion` (texts or lists of messages) · Alpaca's `instruction`, `input`, `output` ·
 * ShareGPT's `conversations`; with `system`, `history` and `tools`. Every other field is refused, except those in `ignored`
 * and those that say nothing to a model. Throws `RowProblem` naming the field.
 */
export function toConversation(value: unknown, reading: RowReading = {}): ConversationRow {
  const { ignored = NO_KEYS, fields = {}, needsReply = null, ...needs } = reading;
  const { rubrics = false, needsQuestion = false } = needs;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RowProblem(`expected an object, got ${kindOf(value)}.`);
  }
  const called = Object.values(fields);
  const given = Object.fromEntries(
    Object.entries(value).filter(([key]) => called.includes(key) || !ignored.has(key)),
  );
  const row = withReadNames(given, fields);
  refusePreferences(row, { ignored, isChosenRead: called.includes('chosen') });
  const shape = shapeOf(row, given, fields);
  return readRow(row, shape, { ignored, fields, rubrics, needsReply, needsQuestion });
}

function readRow(
  row: Row,
  shape: Shape,
  { ignored, fields, rubrics, needsReply, needsQuestion }: Required<RowReading>,
): ConversationRow {
  const given = shape.read(row, ignored);
  const messages = withBeginning(row, given, ignored);
  const known = [...shape.needs, ...shape.may, ...COMMON_KEYS, ...(rubrics ? ['rubric'] : [])];
  const called = (key: string) => calledInRows(key, fields);
  requireKnownKeys(withoutRepetitions(row, messages), { field: '', known, ignored, called });
  if (messages.length === 0) throw new RowProblem('the conversation has no messages.');
  if (needsReply) requireReply(messages, needsReply);
  if (needsQuestion) requireQuestion(messages);
  const tools = TOOL_KEYS.flatMap((key) => readTools(row[key], key));
  const numbers = numbersIn(shape, messages.length - given.length);
  const rubric = rubrics ? readRubric(row['rubric']) : null;
  return {
    ...{ id: conversationId(messages, tools, rubric), messages },
    ...(rubric && { rubric }),
    ...(tools.length > 0 && { tools }),
    ...(numbers && { numbers }),
  };
}

/** null where messages are numbered as they stand, or have no numbers of their own. */
function numbersIn({ needs }: Shape, before: number): ConversationRow['numbers'] | null {
  const [field = '', second] = needs;
  if (second !== undefined || (field === 'messages' && before === 0)) return null;
  return { field, before };
}

/** Content hash: independent of the order of fields and of the shape the row was written in. */
function conversationId(
  messages: readonly Message[],
  tools: readonly ToolDeclaration[],
  rubric: readonly string[] | null,
): string {
  const canonical = messages.map((message) => [
    message.role,
    message.content,
    message.name ?? null,
    message.toolCalls?.map((call) => [call.id ?? null, call.name, call.arguments]) ?? null,
    message.toolCallId ?? null,
    message.trainable ?? null,
  ]);
  const withTools = tools.length === 0 ? canonical : [canonical, tools];
  const content = rubric ? { conversation: withTools, rubric } : withTools;
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 32);
}

/** `given` is the row with its own names. */
function shapeOf(row: Row, given: Row, fields: FieldNames): Shape {
  const shape = SHAPES.find(({ needs }) => needs.every((field) => has(row, field)));
  if (shape) return shape;
  const named = SHAPES.find(({ needs }) => needs.every((field) => field in row));
  const empty = named?.needs.find((field) => !has(row, field));
  if (empty !== undefined) throw new RowProblem(`field "${empty}" is null: the row has nothing to train on.`);
  const needed = SHAPES.map(({ needs }) => needs);
  throw new ProblemInRowNames(whyNoShape(given, needed, fields));
}

/** The system prompt and the history that stand beside the conversation, before it. */
function withBeginning(row: Row, messages: Message[], ignored: ReadonlySet<string>): Message[] {
  const before = withoutSystem(readHistory(row['history'], ignored));
  const given = withoutSystem(messages);
  if (before.system && given.system && before.system.content !== given.system.content) throw twoSystems();
  const system = systemBeside(row, given.system ?? before.system);
  return [...system, ...before.rest, ...given.rest];
}

function withoutSystem(messages: readonly Message[]): { system: Message | null; rest: readonly Message[] } {
  const [first, ...rest] = messages;
  return first?.role === 'system' ? { system: first, rest } : { system: null, rest: messages };
}

function systemBeside(row: Row, own: Message | null): Message[] {
  const texts = SYSTEM_KEYS.filter((key) => has(row, key)).map((key) => readText(row, key));
  const beside = new Set(texts.filter((text) => text !== ''));
  if (own && typeof own.content === 'string') beside.delete(own.content);
  const [text] = beside;
  if (text === undefined) return own ? [own] : [];
  if (beside.size === 1 && !own) return [{ role: 'system', content: text }];
  throw twoSystems();
}

function twoSystems(): RowProblem {
  return new RowProblem(`field "system": the row has another system prompt too. Keep one of them.`);
}

/** Alpaca's pairs of question and answer, or messages; a table holds either as JSON text. */
function readHistory(written: unknown, ignored: ReadonlySet<string>): Message[] {
  if (written === undefined || written === null || written === '') return [];
  const value = listIn(written, 'history');
  if (!Array.isArray(value)) throw new RowProblem(`field "history": expected a list, got ${kindOf(value)}.`);
  const items: readonly unknown[] = value;
  if (!items.some((item) => Array.isArray(item))) return readMessages(value, 'history', ignored);
  return items.flatMap((item, index): Message[] => {
    const pair: readonly unknown[] = Array.isArray(item) ? item : [];
    const [question, answer] = pair;
    if (pair.length === 2 && typeof question === 'string' && typeof answer === 'string') {
      return [
        { role: 'user', content: question },
        { role: 'assistant', content: answer },
      ];
    }
    throw new RowProblem(`field "history[${index}]": expected a question and an answer, both text.`);
  });
}

/** Datasets repeat the question beside `messages`: what the conversation holds already says nothing more. */
function withoutRepetitions(row: Row, messages: readonly Message[]): Row {
  const fieldsOfShapes = SHAPES.flatMap(({ needs, may }) => [...needs, ...may]);
  const isRepeated = ([field, value]: [string, unknown]) =>
    fieldsOfShapes.includes(field) && messages.some(({ content }) => content === value);
  return Object.fromEntries(Object.entries(row).filter((entry) => !isRepeated(entry)));
}

function readSides(row: Row, ignored: ReadonlySet<string>): Message[] {
  const prompt = readSide(row, { field: 'prompt', role: 'user', ignored });
  const completion = readSide(row, { field: 'completion', role: 'assistant', ignored });
  const [[asked], [first]] = [prompt, completion];
  if (asked && first?.role === asked.role && first.content === asked.content) {
    throw new RowProblem(
      'field "completion": it begins with the prompt again, which would be asked twice. Where it is the whole conversation, ' +
        'dataset.fields reads it as one ({messages: …}) and dataset.ignoreKeys leaves the prompt out.',
    );
  }
  return [...prompt.map(withoutLoss), ...completion];
}

interface Side {
  readonly field: 'prompt' | 'completion';
  readonly role: string;
  readonly ignored: ReadonlySet<string>;
}

function readSide(row: Row, { field, role, ignored }: Side): Message[] {
  const value = messagesInText(row[field], field);
  if (typeof value === 'string') return [{ role, content: value }];
  if (Array.isArray(value)) return readMessages(value, field, ignored);
  throw new RowProblem(`field "${field}": expected text or a list of messages, got ${kindOf(value)}.`);
}

/** Tables hold a list of messages as JSON text; any other text, also JSON, is what is said. */
function messagesInText(value: unknown, field: string): unknown {
  const list = typeof value === 'string' ? parsedOrNull(value) : null;
  const isMessage = (item: unknown) =>
    isFields(item) && typeof item['role'] === 'string' && 'content' in item;
  if (!Array.isArray(list) || list.length === 0 || !list.every(isMessage)) return value;
  requireSingleKeys(String(value), list, field);
  return list;
}

/** Replies in a prompt were said before: the completion alone is trained, as the two words say. */
function withoutLoss(message: Message): Message {
  return message.role === 'assistant' && message.trainable === undefined
    ? { ...message, trainable: false }
    : message;
}

function readAlpaca(row: Row): Message[] {
  const instruction = readText(row, 'instruction');
  const input = has(row, 'input') ? readText(row, 'input') : '';
  return [
    { role: 'user', content: [instruction, input].filter((text) => text !== '').join('\n\n') },
    { role: 'assistant', content: readText(row, 'output') },
  ];
}

function readText(row: Row, field: string): string {
  const value = row[field];
  if (typeof value === 'string') return value;
  throw new RowProblem(`field "${field}": expected text, got ${kindOf(value)}.`);
}

function has(row: Row, field: string): boolean {
  return row[field] !== undefined && row[field] !== null;
}
