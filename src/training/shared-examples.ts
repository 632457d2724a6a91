import { hash } from 'node:crypto';
import type { EvaluatorConfig } from '../config/evaluation-config';
import type { Message } from '../core/conversation';
import type { ConversationRow } from '../datasets/dataset';
import { datasetOf } from '../evaluation/dataset-of';
import type { ReadDataset } from './dataset-source';

/** What is trained on, by digests: whole conversations, and what comes before their last reply. */
export interface TrainedExamples {
  readonly whole: ReadonlySet<string>;
  readonly asked: ReadonlySet<string>;
}

export function trainedExamples(rows: readonly ConversationRow[]): TrainedExamples {
  const asked = new Set(rows.map(({ messages }) => askedIn(messages)).filter((digest) => digest !== null));
  return {
    whole: new Set(rows.map(({ messages }) => digestOf(messages))),
    // What every row begins with is an instruction, and no question.
    asked: asked.size > 1 ? asked : new Set(),
  };
}

/**
 * What a person should know of evaluators whose examples also stand among the training rows: they measure memory. Compared are
 * roles, texts and tool calls, but for case and space; benchmarks of the catalogue are not compared.
 */
export async function sharedRemarks(
  readDataset: ReadDataset,
  trained: TrainedExamples,
  evaluators: Readonly<Record<string, EvaluatorConfig>>,
): Promise<string[]> {
  const remarks: string[] = [];
  for (const [name, evaluator] of Object.entries(evaluators)) {
    if (!('dataset' in evaluator)) continue;
    const { rows } = await readDataset(datasetOf(evaluator));
    const remark = remarkOn(rows, trained);
    if (remark !== null) remarks.push(`Evaluator "${name}" measures what is trained on: ${remark}`);
  }
  return remarks;
}

function remarkOn(rows: readonly ConversationRow[], { whole, asked }: TrainedExamples): string | null {
  const same = new Set(rows.filter(({ messages }) => whole.has(digestOf(messages))));
  const alike = rows.filter((row) => !same.has(row) && asked.has(askedIn(row.messages) ?? ''));
  const [first] = [...same, ...alike];
  if (!first) return null;
  const what = [
    ...(same.size > 0
      ? [`${same.size} of its ${rows.length} examples also stand among the training rows`]
      : []),
    ...(alike.length > 0
      ? [`${alike.length} of ${rows.length} ask the same as training rows do and expect another reply`]
      : []),
  ].join(', and ');
  return `${what}, the first ${quoted(first)}. Remove them from one of the two, or read its scores as memory.`;
}

const QUOTED_LENGTH = 60;

function quoted({ messages }: ConversationRow): string {
  const asked =
    messages.find(({ role, content }) => role === 'user' && textOf(content).trim() !== '') ?? messages[0];
  const text = textOf(asked?.content ?? '')
    .replace(/\s+/g, ' ')
    .trim();
  return JSON.stringify(text.length > QUOTED_LENGTH ? `${text.slice(0, QUOTED_LENGTH)}…` : text);
}

/** Null where nobody asks anything. */
function askedIn(messages: readonly Message[]): string | null {
  const before = messages.slice(
    0,
    messages.findLastIndex(({ role }) => role === 'assistant'),
  );
  const isQuestion = before.some(({ role, content }) => role === 'user' && textOf(content).trim() !== '');
  return isQuestion ? digestOf(before) : null;
}

function digestOf(messages: readonly Message[]): string {
  const said = messages.map(({ role, content, toolCalls = [] }) => [
    role,
    textOf(content).toLowerCase().replace(/\s+/g, ' ').trim(),
    toolCalls,
  ]);
  return hash('sha1', JSON.stringify(said), 'base64');
}

function textOf(content: Message['content']): string {
  return typeof content === 'string'
    ? content
    : content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
