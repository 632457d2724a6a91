import type { ContentPart, Message, TrainOnWhat } from '../core/conversation';
import { trainedMessages } from '../renderers/training-weights';
import { splitReply } from '../renderers/written-words';

/** How many of the replies that carry loss say, think and call nothing: a cell that a table left empty, more often than an answer. */
export function countEmptyReplies(messages: readonly Message[], trainOnWhat: TrainOnWhat): number {
  const trained = trainedMessages(messages, trainOnWhat);
  return messages.filter((message, index) => trained[index] && isEmptyReply(message)).length;
}

function isEmptyReply(message: Message): boolean {
  if (message.role !== 'assistant' || (message.toolCalls ?? []).length > 0) return false;
  return splitReply(message).every((part) => wordsOf(part).trim() === '');
}

function wordsOf(part: ContentPart): string {
  return part.type === 'thinking' ? part.thinking : part.text;
}
