import { create, toBinary } from '@bufbuild/protobuf';
import type { ForwardBackwardResult } from '../../../core/datum';
import type { SampledSequence, SampleResult } from '../../../core/sampling';
import type { ArrayRecord, SampledSequence as SequenceMessage } from '../generated/tinker_pb';
import {
  ArrayRecordSchema,
  BatchedTensorSchema,
  DType,
  ForwardBackwardOutputSchema,
  SampledSequenceSchema,
  SampleResponseSchema,
  StopReason,
} from '../generated/tinker_pb';
import { promptScoresMessage, readPromptScores, readTop, topMessage } from './asample-scores-protobuf';
import { bytesOf, float32sFrom, int32sFrom, int64sFrom, malformed } from './bytes';
import { readValues, toFloat32s } from './protobuf-tensor';
import { readMessage } from './read-message';

/** The name the official service gives to outputs with log-probs. */
export const LOSS_OUTPUT_TYPE = 'TorchLossReturn';

/** `widths`: targets a position of each datum, 1 where left out. */
export function encodeForwardBackwardOutput(
  result: ForwardBackwardResult,
  widths: readonly number[] = [],
): Uint8Array {
  return toBinary(
    ForwardBackwardOutputSchema,
    create(ForwardBackwardOutputSchema, {
      lossFnOutputType: LOSS_OUTPUT_TYPE,
      lossFnOutputs: runsOfWidth(result.logprobs, widths).map(logprobsMessage),
      metrics: { ...result.metrics },
    }),
  );
}

interface RunOfWidth {
  readonly width: number;
  readonly rows: Float32Array[];
}

/** A record has one trailing shape for all its datums, so that each change of K begins another. */
function runsOfWidth(logprobs: readonly Float32Array[], widths: readonly number[]): readonly RunOfWidth[] {
  const runs: RunOfWidth[] = [];
  for (const [index, values] of logprobs.entries()) {
    const width = widths[index] ?? 1;
    const last = runs.at(-1);
    if (last?.width === width) last.rows.push(values);
    else runs.push({ width, rows: [values] });
  }
  return runs;
}

function logprobsMessage({ width, rows }: RunOfWidth): ArrayRecord {
  const offsets = new BigInt64Array(rows.length + 1);
  rows.forEach((values, index) => {
    offsets[index + 1] = (offsets[index] ?? 0n) + BigInt(values.byteLength);
  });
  const data = new Uint8Array(Number(offsets.at(-1)));
  rows.forEach((values, index) => {
    data.set(bytesOf(values), Number(offsets[index]));
  });
  const logprobs = create(BatchedTensorSchema, {
    data,
    offsets: bytesOf(offsets),
    dtype: DType.DTYPE_FLOAT32,
    ...(width > 1 && { trailingShape: [BigInt(width)] }),
  });
  return create(ArrayRecordSchema, {
    typeTag: LOSS_OUTPUT_TYPE,
    fields: { logprobs },
    numDatums: BigInt(rows.length),
  });
}

export function decodeForwardBackwardOutput(bytes: Uint8Array): ForwardBackwardResult {
  const kind = { what: 'forward_backward result', schema: ForwardBackwardOutputSchema };
  return readMessage(kind, bytes, (message) => ({
    logprobs: message.lossFnOutputs.flatMap(readLogprobs),
    metrics: message.metrics,
  }));
}

export function encodeSampleResponse(result: SampleResult): Uint8Array {
  const promptLogprobs = result.promptLogprobs;
  return toBinary(
    SampleResponseSchema,
    create(SampleResponseSchema, {
      sequences: result.sequences.map(sequenceMessage),
      ...(promptLogprobs && {
        promptLogprobs: bytesOf(Float32Array.from(promptLogprobs, (value) => value ?? Number.NaN)),
      }),
      ...promptScoresMessage(result),
    }),
  );
}

/** `promptLogprobs` as long as the server sent them. */
export function decodeSampleResponse(bytes: Uint8Array): SampleResult {
  return readMessage({ what: 'sample result', schema: SampleResponseSchema }, bytes, (message) => ({
    sequences: message.sequences.map(readSequence),
    promptLogprobs: message.promptLogprobs
      ? Array.from(float32sFrom(message.promptLogprobs, 'prompt_logprobs'), nullForNaN)
      : null,
    ...readPromptScores(message),
  }));
}

function readLogprobs(record: ArrayRecord): Float32Array[] {
  const count = Number(record.numDatums);
  const tensor = record.fields['logprobs'];
  if (!tensor) throw malformed('a forward_backward result has no logprobs');
  if (tensor.trailingShape.some((size) => size !== 1n)) {
    throw malformed(
      `logprobs have trailing shape ${tensor.trailingShape.join('×')}; one value a position is expected`,
    );
  }
  const offsets = int64sFrom(tensor.offsets, 'logprobs.offsets');
  if (count < 0 || offsets.length !== count + 1)
    throw malformed(`logprobs have ${offsets.length} offsets for ${count} datums`);
  return Array.from({ length: count }, (_, index) => {
    const start = Number(offsets[index]);
    const end = Number(offsets[index + 1]);
    if (start < 0 || end < start || end > tensor.data.byteLength) {
      throw malformed(`logprobs of datum ${index} lie outside the message`);
    }
    return toFloat32s(
      readValues(tensor.data.subarray(start, end), tensor.dtype, `logprobs of datum ${index}`),
    );
  });
}

function sequenceMessage(sequence: SampledSequence): SequenceMessage {
  return create(SampledSequenceSchema, {
    stopReason: sequence.stopReason === 'stop' ? StopReason.STOP : StopReason.LENGTH,
    tokens: bytesOf(Int32Array.from(sequence.tokens)),
    ...(sequence.logprobs && { logprobs: bytesOf(Float32Array.from(sequence.logprobs)) }),
    ...(sequence.topLogprobs && { topkSampledLogprobs: topMessage(sequence.topLogprobs) }),
  });
}

function readSequence(message: SequenceMessage): SampledSequence {
  return {
    tokens: Array.from(int32sFrom(message.tokens, 'sampled tokens')),
    logprobs: message.logprobs ? Array.from(float32sFrom(message.logprobs, 'sampled logprobs')) : null,
    stopReason: message.stopReason === StopReason.STOP ? 'stop' : 'length',
    ...(message.topkSampledLogprobs && {
      topLogprobs: readTop(message.topkSampledLogprobs, 'topk_sampled_logprobs'),
    }),
  };
}

function nullForNaN(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
