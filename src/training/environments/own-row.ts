import type { ToolDeclaration } from '../../core/completion';
import type { Message } from '../../core/conversation';
import { DomainError } from '../../core/errors';
import { readMessages } from '../../datasets/messages';
import { RowProblem } from '../../datasets/row-problem';
import { readTools } from '../../datasets/tools';
import { isRow } from '../../evaluation/graders/row-fields';
import type { Row } from '../../evaluation/graders/row-grader';

/** What says something to a model wherever it is read. */
const SPOKEN = [
  ...['system', 'system_prompt', 'tools', 'functions', 'history', 'messages', 'conversations'],
  ...['prompt', 'question', 'problem', 'instruction', 'input', 'starter_code', 'image', 'images'],
];
/** What questions often have in their own words. */
const OFFERED = ['choices', 'options', 'hint'];

/** Refuses a row of one's own that says something to the model which nobody asks it. `places` are the fields that could be asked. */
export function requireAsked(row: Row, asked: readonly string[], places: readonly string[]): void {
  const words = asked.map((key) => row[key]);
  const isLeft = (key: string) => !asked.includes(key) && saysSomething(row[key]);
  const left =
    SPOKEN.find((key) => isLeft(key) && !words.some((said) => repeats(row[key], said))) ??
    OFFERED.find((key) => isLeft(key) && !isOffered(row[key], words));
  if (left === undefined) return;
  const remedy =
    asked.length === 0
      ? `it would not be asked. Put it under ${places.map((key) => `"${key}"`).join(' or ')}, or remove it.`
      : `it would not be asked: of this row ${asked.map((key) => `"${key}"`).join(', ')} is. Put it there, or remove it.`;
  throw new DomainError('bad-dataset', `field "${left}": ${remedy}`);
}

/** Whether a field holds words or a value: white space asks for nothing. */
export function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === '');
}

/** Every choice stands in the question, however they are listed. */
function isOffered(value: unknown, words: readonly unknown[]): boolean {
  const asked = words.flatMap(textsIn).join('\n');
  const list = typeof value === 'string' ? (jsonIn(value) ?? value) : value;
  return textsIn(list).every((text) => asked.includes(text.trim()));
}

/** Every text and number in a value, as texts. */
export function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/** Tables keep lists as JSON. */
function jsonIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** Datasets repeat the question under other names, and in a conversation. */
function repeats(value: unknown, said: unknown): boolean {
  if (typeof value === 'string' && typeof said === 'string') return value === said;
  if (typeof value === 'string') return contains(said, value);
  return typeof said === 'string' && contains(value, said);
}

function contains(messages: unknown, words: string): boolean {
  if (!Array.isArray(messages)) return false;
  const texts = messages.flatMap((item: unknown) => (isRow(item) ? Object.values(item) : []));
  return texts.some((text) => typeof text === 'string' && text.includes(words));
}

function saysSomething(value: unknown): boolean {
  return isSaid(value) && (!Array.isArray(value) || value.length > 0);
}

/** The row's own conversation and tools, as data sets have them; null where it has none. */
export function conversationIn(
  row: Row,
): { readonly messages: readonly Message[]; readonly tools: readonly ToolDeclaration[] } | null {
  if (!saysSomething(row['messages'])) return null;
  try {
    return { messages: readMessages(row['messages'], 'messages'), tools: readTools(row['tools'], 'tools') };
  } catch (error) {
    if (error instanceof RowProblem) throw new DomainError('bad-dataset', error.message, { cause: error });
    throw error;
  }
}
