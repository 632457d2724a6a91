import { BinaryReader } from '@bufbuild/protobuf/wire';

export interface RequestEnvelope {
  readonly modelId: string;
  readonly seqId: number;
}

/** Model and number of a forward_backward request whose other parts may be unreadable; null where these are too. */
export function readRequestEnvelope(bytes: Uint8Array): RequestEnvelope | null {
  const reader = new BinaryReader(bytes);
  const envelope = { modelId: '', seqId: 0 };
  try {
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag();
      if (number === 1) envelope.modelId = reader.string();
      else if (number === 2) envelope.seqId = reader.int32();
      else reader.skip(wireType, number);
    }
    return envelope;
  } catch {
    return null;
  }
}
