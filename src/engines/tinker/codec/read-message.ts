import { DomainError } from '../../../core/errors';
import { malformed } from './bytes';

/** Whatever goes wrong while reading bytes from elsewhere is a protocol error, never a crash of its own kind. */
export function readMessage<Result>(what: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw malformed(
      `${what} could not be read (${error instanceof Error ? error.message : String(error)})`,
      error,
    );
  }
}
