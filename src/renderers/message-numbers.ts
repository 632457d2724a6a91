import { DomainError } from '../core/errors';

/** How the messages of a conversation that is rendered are numbered where they were given. */
export interface MessageNumbers {
  /** Messages that stand before the first of those given. */
  readonly before: number;
  /** The field that those given stand in. */
  readonly field?: string;
}

const NUMBERED = /messages\[(\d+)\]/g;

/** As `act`; what it refuses is numbered as it was given. */
export function numberedAsGiven<Result>(numbers: MessageNumbers, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const { code, message, retryable, category } = error;
    const renumbered = message.replaceAll(NUMBERED, (_, number: string) => nameOf(Number(number), numbers));
    if (renumbered === message) throw error;
    throw new DomainError(code, renumbered, { retryable, cause: error, ...(category && { category }) });
  }
}

function nameOf(number: number, { before, field = 'messages' }: MessageNumbers): string {
  return number < before ? 'the system message or history' : `${field}[${number - before}]`;
}
