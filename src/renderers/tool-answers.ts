import type { Message, ToolCall } from '../core/conversation';
import { DomainError } from '../core/errors';

/**
 * Gives each tool message the name and the id of the call it answers, where a row names only one of them, or neither
 * and answers come in the order of the calls.
 */
export function matchToolAnswers(messages: readonly Message[]): readonly Message[] {
  let calls = new Calls([]);
  let answerCount = 0;
  return messages.map((message) => {
    if (message.role !== 'tool') {
      calls = new Calls(message.toolCalls ?? []);
      answerCount = 0;
      return message;
    }
    const call = calls.answeredBy(message, answerCount);
    const position = answerCount;
    answerCount += 1;
    return call ? answered(message, call, position) : message;
  });
}

/** Calls of one reply; a row may have tens of thousands, and as many answers. */
class Calls {
  /** Of several calls with one id the first. */
  private readonly placeOf = new Map<string, number>();

  constructor(private readonly calls: readonly ToolCall[]) {
    for (const [place, { id }] of calls.entries()) {
      if (id !== undefined && !this.placeOf.has(id)) this.placeOf.set(id, place);
    }
  }

  /** Calls without ids may be given some later, by whoever answers them. */
  get allHaveIds(): boolean {
    return this.calls.length > 0 && this.calls.every(({ id }) => id !== undefined);
  }

  get ids(): string {
    return this.calls.map(({ id }) => id).join(', ');
  }

  placeNamedBy({ toolCallId }: Message): number | undefined {
    return toolCallId === undefined ? undefined : this.placeOf.get(toolCallId);
  }

  answeredBy(answer: Message, position: number): ToolCall | undefined {
    return this.calls[this.placeNamedBy(answer) ?? position];
  }
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
    const end = answersEnd(messages, start);
    const answers = messages.slice(start, end);
    if (answers.length > 0) {
      const calls = new Calls(messages[start - 1]?.toolCalls ?? []);
      requireAnswers(answers, calls, start);
      for (const answer of inOrderOf(calls, answers)) ordered.push(answer);
    }
    ordered.push(...messages.slice(end, end + 1));
    start = end + 1;
  }
  return ordered;
}

/** Where the tool messages from there on end. */
function answersEnd(messages: readonly Message[], start: number): number {
  let end = start;
  while (messages[end]?.role === 'tool') end++;
  return end;
}

function requireAnswers(answers: readonly Message[], calls: Calls, start: number): void {
  const { allHaveIds } = calls;
  for (const [index, answer] of answers.entries()) {
    if (allHaveIds) requireCalled(answer, calls, start + index);
    requireSameTool(answer, calls.answeredBy(answer, index), start + index);
  }
}

function requireCalled(answer: Message, calls: Calls, index: number): void {
  const { toolCallId: id } = answer;
  if (id === undefined || calls.placeNamedBy(answer) !== undefined) return;
  throw new DomainError(
    'bad-dataset',
    `messages[${index}] answers the tool call "${id.slice(0, 80)}", which the reply before it does not make (${calls.ids.slice(0, 200)}). Name the call it answers.`,
  );
}

/** Most formats write the name of the call alone. */
function requireSameTool({ name }: Message, call: ToolCall | undefined, index: number): void {
  if (name === undefined || call === undefined || name === call.name) return;
  throw new DomainError(
    'bad-dataset',
    `messages[${index}] is the answer of tool "${name.slice(0, 80)}" to a call of "${call.name.slice(0, 80)}". Correct its "name", or leave it out.`,
  );
}

function inOrderOf(calls: Calls, answers: readonly Message[]): readonly Message[] {
  const placed = answers.map((answer) => ({ answer, place: calls.placeNamedBy(answer) ?? -1 }));
  if (placed.some(({ place }) => place < 0)) return answers;
  return placed.toSorted((a, b) => a.place - b.place).map(({ answer }) => answer);
}
