import type { ToolDeclaration } from '../../core/completion';
import type { Message } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import { DEEPEST_JSON, isDeeperThan } from '../../core/json-depth';
import { readMessages } from '../../datasets/messages';
import { RowProblem } from '../../datasets/row-problem';
import { readTools } from '../../datasets/tools';
import { isRow } from '../../evaluation/graders/row-fields';
import type { Row } from '../../evaluation/graders/row-grader';
import { speechIn, squeezed } from './spoken-fields';

export interface Asking {
  /** Fields of the row that are asked. */
  readonly asked: readonly string[];
  /** Fields that could be. */
  readonly places: readonly string[];
  /** Fields that here say nothing to the model: what an answer is judged by, or what it has to find out. */
  readonly unspoken?: readonly string[];
}

const UNLESS = 'or name it in environment.ignoreKeys if it says nothing to the model.';

/** Refuses a row of one's own that says something to the model which nobody asks it. */
export function requireAsked(row: Row, { asked, places, unspoken = [] }: Asking): void {
  const words = asked.map((key) => listed(row[key]));
  const left = Object.keys(row).find(
    (key) => !asked.includes(key) && !unspoken.includes(squeezed(key)) && isLost(key, row[key], words),
  );
  if (left === undefined) return;
  const remedy =
    asked.length === 0
      ? `it would not be asked. Put it under ${places.map((key) => `"${key}"`).join(' or ')}, remove it, ${UNLESS}`
      : `it would not be asked: of this row ${asked.map((key) => `"${key}"`).join(', ')} is. Put it there, remove it, ${UNLESS}`;
  throw new DomainError('bad-dataset', `field "${left}": ${remedy}`);
}

/** The row as if it did not have the fields that the config calls silent. */
export function withoutKeys(row: Row, ignored: readonly string[]): Row {
  if (ignored.length === 0) return row;
  return Object.fromEntries(Object.entries(row).filter(([key]) => !ignored.includes(key)));
}

function isLost(key: string, value: unknown, words: readonly unknown[]): boolean {
  const speech = speechIn(key);
  if (speech === null || !saysSomething(value) || words.some((said) => repeats(value, said))) return false;
  return speech === 'conversation' || !isOffered(value, words);
}

/** Whether a field holds words or a value: white space asks for nothing. */
export function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === '');
}

/** A question offers a choice of some; each is looked for in the whole question. */
const MOST_OFFERED = 1000;

/** Every text stands in what is asked, however they are listed. */
function isOffered(value: unknown, words: readonly unknown[]): boolean {
  const asked = words.flatMap(textsIn).join('\n');
  const texts = textsIn(listed(value));
  return texts.length <= MOST_OFFERED && texts.every((text) => asked.includes(text.trim()));
}

/** Every text and number in a value, as texts. */
export function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  addTexts(value, texts);
  return texts;
}

function addTexts(value: unknown, texts: string[]): void {
  if (typeof value === 'string' || typeof value === 'number') texts.push(String(value));
  else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) addTexts(each, texts);
}

/** Tables keep lists and objects as JSON; what is nested deeper than anybody reads stays a text. */
export function listed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    const read: unknown = JSON.parse(value);
    return isDeeperThan(read, DEEPEST_JSON) ? value : read;
  } catch {
    return value;
  }
}

/** Datasets repeat the question under other names, and in a conversation. */
function repeats(value: unknown, said: unknown): boolean {
  if (typeof value === 'string' && typeof said === 'string') return value === said;
  if (typeof said === 'string') return saysOnly(listed(value), said);
  if (typeof value === 'string' && contains(said, value)) return true;
  return JSON.stringify(listed(value)) === JSON.stringify(said);
}

function contains(messages: unknown, words: string): boolean {
  if (!Array.isArray(messages)) return false;
  const texts = messages.flatMap((item: unknown) => (isRow(item) ? Object.values(item) : []));
  return texts.some((text) => typeof text === 'string' && text.includes(words));
}

/** Whether messages say these words and no others: an instruction or a turn beside the question is said by nobody else. */
function saysOnly(messages: unknown, words: string): boolean {
  if (!Array.isArray(messages) || messages.length === 0) return false;
  return messages.every((item: unknown) => {
    if (!isRow(item)) return false;
    const text = item['content'] ?? item['value'];
    return !isSaid(text) || (typeof text === 'string' && text.trim() === words.trim());
  });
}

function saysSomething(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isSaid(value);
  return Object.values(value).some(saysSomething);
}

export interface OwnConversation {
  /** Where it stands in the row. */
  readonly field: 'messages' | 'prompt';
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDeclaration[];
}

/** The row's own conversation and tools, as data sets have them; null where it has none. */
export function conversationIn(row: Row, ignored: readonly string[] = []): OwnConversation | null {
  const field = conversationField(row);
  if (field === null) return null;
  try {
    const messages = readMessages(row[field], field, new Set(ignored));
    requireOpenEnd(messages, field);
    return { field, messages, tools: readTools(row['tools'], 'tools') };
  } catch (error) {
    if (!(error instanceof RowProblem)) throw error;
    const problem = error.message.replace(
      'name it in dataset.ignoreKeys',
      'name it in environment.ignoreKeys',
    );
    throw new DomainError('bad-dataset', problem, { cause: error });
  }
}

function conversationField(row: Row): OwnConversation['field'] | null {
  if (saysSomething(row['messages'])) return 'messages';
  const prompt = listed(row['prompt']);
  const isConversed = Array.isArray(prompt) && prompt.length > 0 && prompt.every(isRow);
  return isConversed ? 'prompt' : null;
}

/** The reply is what is trained. */
function requireOpenEnd(messages: readonly Message[], field: string): void {
  const last = messages.at(-1);
  if (last === undefined || ['user', 'tool', 'ipython'].includes(last.role)) return;
  throw new RowProblem(
    `field "${field}": ends with a message of role ${last.role}, and the model is to answer. End it with what it answers, a message of the user.`,
  );
}
