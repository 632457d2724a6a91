import type { Message } from '../../core/conversation';
import { messageText } from '../runner/message-text';

/** What was asked, as a judge reads it: a lone question as it is, else each message under its role. */
export function conversationText(messages: readonly Message[]): string {
  const [only, ...others] = messages;
  if (only && others.length === 0) return messageText(only);
  return messages.map((message) => `${message.role}: ${messageText(message)}`).join('\n\n');
}
