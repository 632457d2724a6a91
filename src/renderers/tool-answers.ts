import type { Message, ToolCall } from '../core/conversation';
import { DomainError } from '../core/errors';

/**
 * Gives each tool message the name and the id of the call it answers, where a row names only one of them, or neither
 * and answers come in the order of the calls.
 */
export function matchToolAnswers(messages: readonly Message[]): readonly Message[] {
  let calls: readonly ToolCall[] = [];
  let answerCount = 0;
  return messages.map((message) => {
    if (message.role !== 'tool') {
      calls = message.toolCalls ?? [];
      answerCount = 0;
      return message;
    }
    const call = calls.find(({ id }) => id !== undefined && id === message.toolCallId) ?? calls[answerCount];
    const position = answerCount;
    answerCount += 1;
    return call ? answered(message, call, position) : message;
  });
}

function answered(message: Message, call: ToolCall, position: number): Message {
  return {
    ...message,
    name: message.name ?? call.name,
    toolCallId: message.toolCallId ?? call.id ?? `functions.${call.name}:${position}`,
  };
}

/**
 * Puts the tool messages after a reply into the order of the calls they name, for formats in which nothing but their order
 * tells which call an answer belongs to. Those that name none stay where they are.
 *
 * @throws DomainError `bad-dataset` where an answer names none of the ids that its reply calls with, or another tool than its call.
 */
export function orderToolAnswers(messages: readonly Message[]): readonly Message[] {
  const ordered: Message[] = [];
  for (let start = 0; start < messages.length;) {
    const answers = answersFrom(messages, start);
    const calls = messages[start - 1]?.toolCalls ?? [];
    const ids = calls.map(({ id }) => id);
    answers.forEach((answer, index) => {
      requireCalled(answer.toolCallId, ids, start + index);
      requireSameTool(answer, callOf(answer, calls, index), start + index);
    });
    ordered.push(...inOrderOf(ids, answers), ...messages.slice(start + answers.length).slice(0, 1));
    start += answers.length + 1;
  }
  return ordered;
}

function answersFrom(messages: readonly Message[], start: number): readonly Message[] {
  const rest = messages.slice(start);
  const end = rest.findIndex(({ role }) => role !== 'tool');
  return end < 0 ? rest : rest.slice(0, end);
}

type CallIds = readonly (string | undefined)[];

/** Calls without ids may be given some later, by whoever answers them. */
function requireCalled(id: string | undefined, ids: CallIds, index: number): void {
  if (id === undefined || ids.length === 0 || ids.includes(undefined) || ids.includes(id)) return;
  throw new DomainError(
    'bad-dataset',
    `messages[${index}] answers the tool call "${id.slice(0, 80)}", which the reply before it does not make (${ids.join(', ').slice(0, 200)}). Name the call it answers.`,
  );
}

function callOf({ toolCallId }: Message, calls: readonly ToolCall[], index: number): ToolCall | undefined {
  return calls.find(({ id }) => id !== undefined && id === toolCallId) ?? calls[index];
}

/** Most formats write the name of the call alone. */
function requireSameTool({ name }: Message, call: ToolCall | undefined, index: number): void {
  if (name === undefined || call === undefined || name === call.name) return;
  throw new DomainError(
    'bad-dataset',
    `messages[${index}] is the answer of tool "${name.slice(0, 80)}" to a call of "${call.name.slice(0, 80)}". Correct its "name", or leave it out.`,
  );
}

function inOrderOf(ids: CallIds, answers: readonly Message[]): readonly Message[] {
  const placeOf = ({ toolCallId }: Message) => (toolCallId === undefined ? -1 : ids.indexOf(toolCallId));
  if (answers.some((answer) => placeOf(answer) < 0)) return answers;
  return answers.toSorted((a, b) => placeOf(a) - placeOf(b));
}
