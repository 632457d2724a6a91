import type { MessageShape } from '@bufbuild/protobuf';
import { create, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Datum, DatumProvenance, ProvenanceRun } from '../../../core/datum';
import type { Chunk, Datum as DatumMessage, ProvenanceSpan, Tensor } from '../generated/tinker_pb';
import {
  ChunkSchema,
  DatumSchema,
  DType,
  ForwardBackwardRequestSchema,
  LossConfigValueSchema,
  ProvenanceSpanSchema,
  SequenceSpanSchema,
  TensorSchema,
} from '../generated/tinker_pb';
import { bytesOf, int32sFrom, int64BytesOf, joined, malformed } from './bytes';
import type { ForwardBackwardRequest } from './messages';
import { readTensor, toFloat32s, toTokens } from './protobuf-tensor';
import { readMessage } from './read-message';
import { DenseRoom } from './sparse-rows';

/** Datums that were encoded before they are sent, until they are. */
const ahead = new WeakMap<Datum, Uint8Array>();

/** The same request always gives the same bytes: those of its fields in their order, whenever its datums were encoded. */
export function encodeForwardBackwardRequest(request: ForwardBackwardRequest): Uint8Array {
  const { modelId, seqId, lossFn, forwardOnly } = request;
  const config = Object.entries(request.lossFnConfig).sort(byKey);
  const before = create(ForwardBackwardRequestSchema, { modelId, seqId });
  const after = create(ForwardBackwardRequestSchema, {
    lossFn,
    lossFnConfig: Object.fromEntries(config),
    lossFnConfigV2: Object.fromEntries(
      config.map(([name, number]) => [
        name,
        create(LossConfigValueSchema, { value: { case: 'number', value: number } }),
      ]),
    ),
    forwardOnly,
  });
  const writer = new BinaryWriter().raw(toBinary(ForwardBackwardRequestSchema, before));
  for (const datum of request.data) {
    writer
      .tag(ForwardBackwardRequestSchema.field.data.number, WireType.LengthDelimited)
      .bytes(ahead.get(datum) ?? encodeDatum(datum));
    ahead.delete(datum);
  }
  return writer.raw(toBinary(ForwardBackwardRequestSchema, after)).finish();
}

/** So that the request which sends it has less to do. */
export function encodeDatumAhead(datum: Datum): void {
  if (!ahead.has(datum)) ahead.set(datum, encodeDatum(datum));
}

/** Lengths are not compared here: see `checkDatum`. */
export function decodeForwardBackwardRequest(bytes: Uint8Array): ForwardBackwardRequest {
  const kind = { what: 'forward_backward request', schema: ForwardBackwardRequestSchema };
  const room = new DenseRoom();
  return readMessage(kind, bytes, (message) => ({
    modelId: message.modelId,
    seqId: message.seqId,
    data: message.data.map((datum) => readDatum(datum, room)),
    lossFn: message.lossFn,
    lossFnConfig: { ...message.lossFnConfig, ...numbersOf(message.lossFnConfigV2) },
    forwardOnly: message.forwardOnly,
  }));
}

function encodeDatum(datum: Datum): Uint8Array {
  const { targetsPerPosition: width = 1, provenance } = datum;
  const inputs = Object.entries(datum.lossInputs).sort(byKey);
  const message = create(DatumSchema, {
    modelInput: [
      create(ChunkSchema, { chunk: { case: 'encodedText', value: { tokens: bytesOf(datum.tokens) } } }),
    ],
    lossFnInputs: Object.fromEntries([
      ['target_tokens', int64Tensor(datum.targetTokens, width)] as const,
      ...inputs.map(([name, values]) => [name, float32Tensor(values, width)] as const),
    ]),
    ...(provenance && {
      modelInputSpans: provenance.tokens.map(spanMessage),
      lossFnInputSpans: provenance.targets.map(spanMessage),
    }),
  });
  return toBinary(DatumSchema, message);
}

function spanMessage({ from, sequenceId, offset, length }: ProvenanceRun): ProvenanceSpan {
  const value = create(SequenceSpanSchema, { sequenceId, offset: BigInt(offset), length: BigInt(length) });
  return create(ProvenanceSpanSchema, {
    span: { case: from === 'prompt' ? 'promptTokens' : 'sampledTokens', value },
  });
}

function int64Tensor(values: Int32Array, width: number): Tensor {
  return create(TensorSchema, {
    storage: { case: 'dense', value: int64BytesOf(values) },
    dtype: DType.DTYPE_INT64,
    shape: shapeOf(values, width),
  });
}

function float32Tensor(values: Float32Array, width: number): Tensor {
  return create(TensorSchema, {
    storage: { case: 'dense', value: bytesOf(values) },
    dtype: DType.DTYPE_FLOAT32,
    shape: shapeOf(values, width),
  });
}

function shapeOf({ length }: ArrayLike<number>, width: number): bigint[] {
  return width === 1 ? [BigInt(length)] : [BigInt(length / width), BigInt(width)];
}

function readDatum(message: DatumMessage, room: DenseRoom): Datum {
  const tokens = readTokens(message.modelInput);
  const { length } = tokens;
  const { target_tokens: target, ...inputs } = message.lossFnInputs;
  if (!target) throw malformed('a datum has no target_tokens');
  const targets = readTensor(target, { name: 'target_tokens', length, room });
  const provenance = readProvenance(message);
  return {
    tokens,
    targetTokens: toTokens(targets.values, 'target_tokens'),
    lossInputs: Object.fromEntries(
      Object.entries(inputs).map(([name, tensor]) => [
        name,
        toFloat32s(readTensor(tensor, { name, length, room }).values),
      ]),
    ),
    ...(targets.width > 1 && { targetsPerPosition: targets.width }),
    ...(provenance && { provenance }),
  };
}

function readProvenance({ modelInputSpans, lossFnInputSpans }: DatumMessage): DatumProvenance | null {
  const provenance = {
    tokens: modelInputSpans.flatMap(readSpan),
    targets: lossFnInputSpans.flatMap(readSpan),
  };
  return provenance.tokens.length + provenance.targets.length === 0 ? null : provenance;
}

/** None where the span names no sequence. */
function readSpan({ span }: ProvenanceSpan): ProvenanceRun[] {
  if (span.case === undefined) return [];
  const { sequenceId } = span.value;
  const [offset, length] = [Number(span.value.offset), Number(span.value.length)];
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0)
    throw malformed(
      `a provenance span of ${sequenceId.slice(0, 200)} has offset ${offset}, length ${length}`,
    );
  return [{ from: span.case === 'promptTokens' ? 'prompt' : 'sampled', sequenceId, offset, length }];
}

function readTokens(chunks: readonly Chunk[]): Int32Array {
  const parts = chunks.map(({ chunk }) => {
    if (chunk.case !== 'encodedText')
      throw malformed(`model_input holds ${chunk.case ?? 'nothing'}; only text tokens are supported`);
    return int32sFrom(chunk.value.tokens, 'model_input');
  });
  const [only] = parts;
  return parts.length === 1 && only ? only : joined(parts);
}

function numbersOf(config: ForwardBackwardConfigV2): Record<string, number> {
  const numbers: Record<string, number> = {};
  for (const [name, { value }] of Object.entries(config)) {
    if (value.case === 'text')
      throw malformed(`loss_fn_config.${name} is a text; only numbers are supported`);
    if (value.case === 'number') numbers[name] = value.value;
  }
  return numbers;
}

type ForwardBackwardConfigV2 = MessageShape<typeof ForwardBackwardRequestSchema>['lossFnConfigV2'];

function byKey(one: readonly [string, unknown], other: readonly [string, unknown]): number {
  return one[0] < other[0] ? -1 : 1;
}
