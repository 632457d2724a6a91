import type { Message } from '../core/conversation';

/** Whether a call has an id that is written in its name's place and does not hold the name: what is called is then in no token of it. */
export function hasUnnamedCall(messages: readonly Message[]): boolean {
  return messages.some(({ toolCalls = [] }) =>
    toolCalls.some(({ id, name }) => id !== undefined && !id.includes(name)),
  );
}
