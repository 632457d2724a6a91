import type { Message } from '../core/conversation';
import { RowProblem } from './row-problem';

/** What a judge does with the reply of a row: judges by it, or compares the model's with it as another's. */
export type ReplyUse = 'criterion' | 'opponent';

const WITHOUT_REPLY = {
  criterion: 'use method score or rubric, which compare with nothing',
  opponent: 'set baseline: base, which compares with what the base model says',
};

/** Refuses a row without the reply that is compared with. */
export function requireReply(messages: readonly Message[], use: ReplyUse): void {
  const last = messages.at(-1);
  if (last?.role === 'assistant' && saysSomething(last)) return;
  throw new RowProblem(
    'the conversation has no reply at its end, with which the judge would compare the model’s. ' +
      `Give it one, or ${WITHOUT_REPLY[use]}.`,
  );
}

/** Refuses a row that asks nothing: what stands before the last reply is answered anew. */
export function requireQuestion(messages: readonly Message[]): void {
  const asked = messages.at(-1)?.role === 'assistant' ? messages.slice(0, -1) : messages;
  if (asked.some((message) => message.role !== 'system' && saysSomething(message))) return;
  throw new RowProblem(
    'the conversation asks nothing that could be answered and judged. Give a message of the user.',
  );
}

/** Words or calls. */
function saysSomething(message: Message): boolean {
  return saidIn(message).trim() !== '' || (message.toolCalls ?? []).length > 0;
}

function saidIn({ content }: Message): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
