import { hash } from 'node:crypto';
import type { EvaluatorConfig } from '../config/evaluation-config';
import type { Message } from '../core/conversation';
import type { ConversationRow } from '../datasets/dataset';
import type { ReadDataset } from './dataset-source';

/** What the conversations of a training split ask, each by its digest. */
export type Questions = ReadonlySet<string>;

export function questionsOf(rows: readonly ConversationRow[]): Questions {
  return new Set(rows.map(({ messages }) => questionOf(messages)));
}

/**
 * What a person should know of evaluators whose examples also stand among the training rows: they measure memory. Compared is
 * what the user says, letter by letter but for case and space; benchmarks of the catalogue are not compared.
 */
export async function sharedRemarks(
  readDataset: ReadDataset,
  questions: Questions,
  evaluators: Readonly<Record<string, EvaluatorConfig>>,
): Promise<string[]> {
  const remarks: string[] = [];
  for (const [name, evaluator] of Object.entries(evaluators)) {
    if (!('dataset' in evaluator)) continue;
    const { rows } = await readDataset(evaluator.dataset);
    const shared = rows.filter(({ messages }) => questions.has(questionOf(messages)));
    const [first] = shared;
    if (!first) continue;
    const place = first.place === undefined ? '' : `, the first ${first.place}`;
    remarks.push(
      `Evaluator "${name}" asks what is trained on: ${shared.length} of its ${rows.length} examples also stand among the training rows${place}. Remove them from one of the two, or read its scores as memory.`,
    );
  }
  return remarks;
}

function questionOf(messages: readonly Message[]): string {
  const asked = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content));
  return hash(
    'sha1',
    JSON.stringify(asked.map((text) => text.toLowerCase().replace(/\s+/g, ' ').trim())),
    'base64',
  );
}

function textOf(content: Message['content']): string {
  return typeof content === 'string'
    ? content
    : content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
