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

/** Refuses a row of one's own that says something to the model which nobody asks it. */
export function requireAsked(row: Row, asked: readonly string[]): void {
  const words = asked.map((key) => row[key]);
  const left = SPOKEN.find(
    (key) =>
      !asked.includes(key) && saysSomething(row[key]) && !words.some((said) => repeats(row[key], said)),
  );
  if (left === undefined) return;
  const read = asked.length === 0 ? 'nothing' : asked.map((key) => `"${key}"`).join(', ');
  throw new DomainError(
    'bad-dataset',
    `field "${left}": it would not be asked: of this row ${read} is. Put it there, or remove it.`,
  );
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
  if (value === undefined || value === null || value === '') return false;
  return !Array.isArray(value) || value.length > 0;
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
