import type { PayloadConverter } from '@temporalio/common';
import { defaultPayloadConverter } from '@temporalio/common';

/**
 * Temporal's own converter, for which a value that it cannot read is as good as not there: anybody who reaches the server can send
 * a run a signal in another encoding, and a workflow whose task throws is tried for ever. Who is given nothing passes it over, or
 * refuses it. Temporal's bundler takes the export of this name.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload: (payload) => {
    try {
      return defaultPayloadConverter.fromPayload(payload);
    } catch {
      return defaultPayloadConverter.fromPayload(NOTHING);
    }
  },
};

const NOTHING = defaultPayloadConverter.toPayload(undefined);
