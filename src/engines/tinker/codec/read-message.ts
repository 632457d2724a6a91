import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { fromBinary } from '@bufbuild/protobuf';
import { DomainError } from '../../../core/errors';
import { malformed } from './bytes';
import { checkParts } from './message-parts';

interface MessageKind<Schema extends DescMessage> {
  readonly what: string;
  readonly schema: Schema;
}

/** Whatever goes wrong while reading bytes from elsewhere is a protocol error, never a crash of its own kind. */
export function readMessage<Schema extends DescMessage, Result>(
  { what, schema }: MessageKind<Schema>,
  bytes: Uint8Array,
  read: (message: MessageShape<Schema>) => Result,
): Result {
  try {
    checkParts(schema, bytes);
    return read(fromBinary(schema, bytes, { readUnknownFields: false }));
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw malformed(
      `${what} could not be read (${error instanceof Error ? error.message : String(error)})`,
      error,
    );
  }
}
