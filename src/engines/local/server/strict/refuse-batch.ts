import { readMessage } from '../../../tinker/codec/read-message';
import { ForwardBackwardRequestSchema } from '../../../tinker/generated/tinker_pb';
import type { EngineService } from '../engine-service';
import { ProtocolError } from '../protocol-error';
import type { StrictMode } from './strict-mode';

/** Throws where a forward_backward is larger than the service said it takes, or has a loss it does not offer. */
export function refuseBatch(service: EngineService, { limits, options }: StrictMode, body: Buffer): void {
  const batch = readBatch(body);
  if (batch === null) return;
  const refusal = refusalOf(batch, limits.chunkDatums, options.refusedLosses ?? []);
  if (refusal === null) return;
  // A number that is refused at the door must not hold back the ones after it.
  service.training.refuse(batch.modelId, batch.seqId);
  throw new ProtocolError(422, refusal);
}

interface Batch {
  readonly modelId: string;
  readonly seqId: number;
  readonly lossFn: string;
  readonly datumCount: number;
}

/** What cannot be read is refused by the route itself. */
function readBatch(body: Buffer): Batch | null {
  try {
    return readMessage(
      { what: 'forward_backward', schema: ForwardBackwardRequestSchema },
      body,
      ({ modelId, seqId, lossFn, data }) => ({ modelId, seqId, lossFn, datumCount: data.length }),
    );
  } catch {
    return null;
  }
}

function refusalOf(
  { datumCount, lossFn }: Batch,
  chunkDatums: number,
  refusedLosses: readonly string[],
): string | null {
  if (datumCount > chunkDatums)
    return `${datumCount} datums in one request; at most ${chunkDatums} are taken.`;
  return refusedLosses.includes(lossFn) ? `loss_fn "${lossFn}" is not offered for this model.` : null;
}
