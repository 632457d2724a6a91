import type { Message, TrainOnWhat } from '../core/conversation';
import { DomainError } from '../core/errors';

interface MessagePlace {
  readonly isLast: boolean;
  readonly isInLastTurn: boolean;
}

const CARRIES_LOSS: Record<TrainOnWhat, (message: Message, place: MessagePlace) => boolean> = {
  lastAssistantMessage: (message, { isLast }) => isLast && message.role === 'assistant',
  lastAssistantTurn: (message, { isInLastTurn }) => isInLastTurn && message.role === 'assistant',
  allAssistantMessages: (message) => message.role === 'assistant',
  allMessages: () => true,
  allTokens: () => true,
  allUserAndSystemMessages: (message) => message.role === 'user' || message.role === 'system',
  customized: (message) => message.trainable ?? false,
};

/**
 * For each message: does what it says (not its header) carry loss? The turn being produced begins at `turnStart`. A message
 * that is marked as carrying none does not in any mode.
 */
export function trainedMessages(
  messages: readonly Message[],
  trainOnWhat: TrainOnWhat,
  turnStart = lastUserIndex(messages.slice(0, -1)) + 1,
): boolean[] {
  return messages.map(
    (message, index) =>
      message.trainable !== false &&
      CARRIES_LOSS[trainOnWhat](message, {
        isLast: index === messages.length - 1,
        isInLastTurn: index >= turnStart,
      }),
  );
}

/** Index of the message before which sampling would begin, in the modes that train what sampling would produce. */
export function firstTrainedReply(messages: readonly Message[], trainOnWhat: TrainOnWhat): number | null {
  const index = replyIndex(messages, trainOnWhat);
  return index !== null && messages[index]?.role === 'assistant' ? index : null;
}

function replyIndex(messages: readonly Message[], trainOnWhat: TrainOnWhat): number | null {
  if (trainOnWhat === 'lastAssistantMessage') return messages.length - 1;
  if (trainOnWhat === 'lastAssistantTurn') return lastUserIndex(messages) + 1;
  return null;
}

/** -1 where no user speaks. */
export function lastUserIndex(messages: readonly Message[]): number {
  return messages.findLastIndex((message) => message.role === 'user');
}

/** Refuses an empty conversation, and marks of loss that are missing or that the mode goes against. */
export function checkMessages(messages: readonly Message[], trainOnWhat: TrainOnWhat): void {
  if (messages.length === 0) {
    throw new DomainError(
      'bad-dataset',
      'A conversation without messages cannot be rendered. Remove the row.',
    );
  }
  if (trainOnWhat === 'customized') {
    const unmarked = messages.findIndex(({ trainable }) => trainable === undefined);
    if (unmarked < 0) return;
    throw new DomainError(
      'bad-dataset',
      `trainOnWhat "customized" needs "trainable" on each message, and messages[${unmarked}] has none. Add true or false to it.`,
    );
  }
  const trained = trainedMessages(messages, trainOnWhat);
  const wrong = messages.findIndex(
    ({ trainable }, index) =>
      (trainable === true && trained[index] === false) ||
      (trainable === false && trainOnWhat === 'allTokens'),
  );
  if (wrong < 0) return;
  const isMarkedOn = messages[wrong]?.trainable === true;
  const mark = isMarkedOn ? 'carrying' : 'carrying no';
  const inPrompt = isMarkedOn ? '' : ' Replies in a "prompt" are marked so; those in "messages" are not.';
  throw new DomainError(
    'bad-dataset',
    `messages[${wrong}] is marked as ${mark} loss, against trainOnWhat "${trainOnWhat}". Remove the mark or use "customized".${inPrompt}`,
  );
}

/** The mark of a message that a renderer adds: where all messages are marked it carries no loss. */
export function markOfAdded(messages: readonly Message[]): Pick<Message, 'trainable'> {
  const areMarked = messages.every(({ trainable }) => trainable !== undefined);
  return areMarked ? { trainable: false } : {};
}
