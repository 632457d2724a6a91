import type { Steps } from '../../../core/concurrency/steps';
import { finish } from '../../../core/concurrency/steps';
import type { Datum } from '../../../core/datum';
import { SIZE_AT_ONCE, sizeOf } from '../../../core/datum-size';
import { joined, malformed } from './bytes';
import type { JsonObject } from './json-values';
import {
  arrayFrom,
  integerFrom,
  numberOrNaNFrom,
  numberRecordFrom,
  objectFrom,
  stringFrom,
  tokensFrom,
} from './json-values';
import type { ForwardBackwardRequest } from './messages';
import type { TensorPlace } from './protobuf-tensor';
import { widthOf } from './protobuf-tensor';
import { DenseRoom, listedCells } from './sparse-rows';

/** The body of `forward_backward`, or of `forward` where only log-probs are asked for. */
export function forwardBackwardRequestToJson(request: ForwardBackwardRequest): JsonObject {
  const input = {
    data: request.data.map(datumToJson),
    loss_fn: request.lossFn,
    ...(Object.keys(request.lossFnConfig).length > 0 && { loss_fn_config: sorted(request.lossFnConfig) }),
  };
  return {
    model_id: request.modelId,
    seq_id: request.seqId,
    [request.forwardOnly ? 'forward_input' : 'forward_backward_input']: input,
  };
}

/** Reads both bodies; which key holds the input tells them apart. Lengths are not compared here: see `checkDatum`. */
export function forwardBackwardRequestFromJson(body: unknown): ForwardBackwardRequest {
  return finish(forwardBackwardRequestInSteps(body));
}

/** The same, some datums at a time. */
export function* forwardBackwardRequestInSteps(body: unknown): Steps<ForwardBackwardRequest> {
  const request = objectFrom(body, 'forward_backward request');
  const forwardOnly = request['forward_input'] != null || request['forward_only'] === true;
  const input = objectFrom(
    request['forward_input'] ?? request['forward_backward_input'],
    'forward_backward_input',
  );
  return {
    modelId: stringFrom(request['model_id'], 'model_id'),
    seqId: request['seq_id'] == null ? 0 : integerFrom(request['seq_id'], 'seq_id'),
    data: yield* dataFromJson(input['data']),
    lossFn: stringFrom(input['loss_fn'], 'loss_fn'),
    lossFnConfig: numberRecordFrom(input['loss_fn_config'], 'loss_fn_config'),
    forwardOnly,
  };
}

function* dataFromJson(value: unknown): Steps<Datum[]> {
  const room = new DenseRoom();
  const data: Datum[] = [];
  let size = 0;
  for (const [index, item] of arrayFrom(value, 'data').entries()) {
    const datum = datumFromJson(item, { index, room });
    data.push(datum);
    size += sizeOf(datum);
    if (size < SIZE_AT_ONCE) continue;
    size = 0;
    yield;
  }
  return data;
}

/** Tokens of a `{"chunks": [{"type": "encoded_text", "tokens": [...]}]}`. */
export function modelInputFromJson(value: unknown, what: string): Int32Array {
  const chunks = arrayFrom(objectFrom(value, what)['chunks'], `${what}.chunks`).map((item, index) => {
    const chunk = objectFrom(item, `${what}.chunks[${index}]`);
    const type = chunk['type'] ?? 'encoded_text';
    if (type !== 'encoded_text')
      throw malformed(
        `${what} holds a chunk of type ${JSON.stringify(type)}; only text tokens are supported`,
      );
    return tokensFrom(chunk['tokens'], `${what}.tokens`);
  });
  const [only] = chunks;
  return chunks.length === 1 && only ? only : joined(chunks);
}

export function modelInputToJson(tokens: Iterable<number>): JsonObject {
  return { chunks: [{ type: 'encoded_text', tokens: [...tokens] }] };
}

function datumToJson(datum: Datum): JsonObject {
  const { targetsPerPosition: width = 1 } = datum;
  const inputs = Object.entries(sorted(datum.lossInputs));
  return {
    model_input: modelInputToJson(datum.tokens),
    loss_fn_inputs: Object.fromEntries([
      ['target_tokens', tensorToJson(datum.targetTokens, { dtype: 'int64', width })] as const,
      ...inputs.map(([name, values]) => [name, tensorToJson(values, { dtype: 'float32', width })] as const),
    ]),
  };
}

export function tensorToJson(
  values: Float32Array | Int32Array,
  { dtype, width }: { readonly dtype: 'float32' | 'int64'; readonly width: number },
): JsonObject {
  const shape = width === 1 ? [values.length] : [values.length / width, width];
  return { data: Array.from(values), dtype, shape };
}

function datumFromJson(
  value: unknown,
  { index, room }: { readonly index: number; readonly room: DenseRoom },
): Datum {
  const datum = objectFrom(value, `data[${index}]`);
  const { target_tokens: target, ...inputs } = objectFrom(datum['loss_fn_inputs'], 'loss_fn_inputs');
  const tokens = modelInputFromJson(datum['model_input'], 'model_input');
  const { length } = tokens;
  if (target === undefined) throw malformed(`data[${index}] has no target_tokens`);
  const targets = tensorData(target, { name: 'target_tokens', length, room });
  return {
    tokens,
    targetTokens: tokensFrom(targets.data, 'target_tokens'),
    lossInputs: Object.fromEntries(
      Object.entries(inputs).map(([name, tensor]) => [
        name,
        floatsFrom(tensorData(tensor, { name, length, room }).data, name),
      ]),
    ),
    ...(targets.width > 1 && { targetsPerPosition: targets.width }),
  };
}

interface JsonTensor {
  readonly data: readonly unknown[];
  /** Values a position. */
  readonly width: number;
}

/** A tensor's values, row by row. A bare list is accepted as the field's own clients allow. */
function tensorData(value: unknown, place: TensorPlace): JsonTensor {
  if (Array.isArray(value)) return { data: value, width: 1 };
  const { name, length } = place;
  const tensor = objectFrom(value, name);
  const data = arrayFrom(tensor['data'], `${name}.data`);
  const shape = tensor['shape'] == null ? [data.length] : integersFrom(tensor['shape'], `${name}.shape`);
  const width = widthOf({ shape, name, length });
  return { data: tensor['sparse_crow_indices'] == null ? data : denseData(tensor, width, place), width };
}

function denseData(tensor: JsonObject, width: number, { name, length, room }: TensorPlace): number[] {
  const data = arrayFrom(tensor['data'], `${name}.data`);
  const columns = integersFrom(tensor['sparse_col_indices'], `${name}.sparse_col_indices`);
  if (columns.length !== data.length)
    throw malformed(`sparse tensor "${name}" lists unequal values and columns`);
  const rowStarts = integersFrom(tensor['sparse_crow_indices'], `${name}.sparse_crow_indices`);
  const cells = listedCells({ name, rowCount: length, columnCount: width, rowStarts, columns });
  room.take(length * width, name);
  const dense = Array.from({ length: length * width }, () => 0);
  cells.forEach((cell, index) => {
    dense[cell] = numberOrNaNFrom(data[index], name);
  });
  return dense;
}

function integersFrom(value: unknown, what: string): number[] {
  return arrayFrom(value, what).map((item) => integerFrom(item, what));
}

export function floatsFrom(values: readonly unknown[], what: string): Float32Array {
  const floats = new Float32Array(values.length);
  for (let index = 0; index < values.length; index++) floats[index] = numberOrNaNFrom(values[index], what);
  return floats;
}

function sorted<Value>(record: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)));
}
