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

/** For each message: does what it says (not its header) carry loss? The turn being produced begins at `turnStart`. */
export function trainedMessages(
  messages: readonly Message[],
  trainOnWhat: TrainOnWhat,
  turnStart = lastUserIndex(messages.slice(0, -1)) + 1,
): boolean[] {
  return messages.map((message, index) =>
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

/** Refuses an empty conversation, and `trainable` marks that are missing or that nothing reads. */
export function checkMessages(messages: readonly Message[], trainOnWhat: TrainOnWhat): void {
  if (messages.length === 0) {
    throw new DomainError(
      'bad-dataset',
      'A conversation without messages cannot be rendered. Remove the row.',
    );
  }
  const wantsMarks = trainOnWhat === 'customized';
  const wrong = messages.findIndex((message) => (message.trainable !== undefined) !== wantsMarks);
  if (wrong < 0) return;
  throw new DomainError(
    'bad-dataset',
    wantsMarks
      ? `trainOnWhat "customized" needs "trainable" on each message, and messages[${wrong}] has none. Add true or false to it.`
      : `messages[${wrong}] has "trainable", which trainOnWhat "${trainOnWhat}" does not read. Remove the field or use "customized".`,
  );
}
