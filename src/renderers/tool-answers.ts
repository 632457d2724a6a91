import type { Message, ToolCall } from '../core/conversation';

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
