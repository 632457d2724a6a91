import type { Message } from '../core/conversation';
import { DomainError } from '../core/errors';
import { readMessagesOfAnyRole } from '../datasets/messages';
import { messageOf } from './error-message';

/** OpenAI's names for what a message has beside its words. */
const FOREIGN_KEYS = ['tool_calls', 'tool_call_id'];

/** Messages of an environment; calls, and which of them is answered, also in OpenAI's spelling, which would be left out. */
export function spokenMessages(given: readonly Message[], field: string): readonly Message[] {
  return given.some(isForeign)
    ? given.map((message, index) => ownForm(message, `${field}[${index}]`))
    : given;
}

function isForeign(message: Message): boolean {
  return FOREIGN_KEYS.some((key) => key in message);
}

function ownForm(message: Message, field: string): Message {
  if (!isForeign(message)) return message;
  try {
    const [read = message] = readMessagesOfAnyRole([message], field);
    return read;
  } catch (error) {
    throw new DomainError('bad-plugin', `${field} of the environment: ${messageOf(error)}`, { cause: error });
  }
}
