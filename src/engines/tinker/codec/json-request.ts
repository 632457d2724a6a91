import type { Datum } from '../../../core/datum';
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
import { listedRows } from './sparse-rows';

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
  const request = objectFrom(body, 'forward_backward request');
  const forwardOnly = request['forward_input'] != null || request['forward_only'] === true;
  const input = objectFrom(
    request['forward_input'] ?? request['forward_backward_input'],
    'forward_backward_input',
  );
  return {
    modelId: stringFrom(request['model_id'], 'model_id'),
    seqId: request['seq_id'] == null ? 0 : integerFrom(request['seq_id'], 'seq_id'),
    data: arrayFrom(input['data'], 'data').map(datumFromJson),
    lossFn: stringFrom(input['loss_fn'], 'loss_fn'),
    lossFnConfig: numberRecordFrom(input['loss_fn_config'], 'loss_fn_config'),
    forwardOnly,
  };
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
  const inputs = Object.entries(sorted(datum.lossInputs));
  return {
    model_input: modelInputToJson(datum.tokens),
    loss_fn_inputs: Object.fromEntries([
      ['target_tokens', tensorToJson(datum.targetTokens, 'int64')] as const,
      ...inputs.map(([name, values]) => [name, tensorToJson(values, 'float32')] as const),
    ]),
  };
}

function tensorToJson(values: Float32Array | Int32Array, dtype: 'float32' | 'int64'): JsonObject {
  return { data: Array.from(values), dtype, shape: [values.length] };
}

function datumFromJson(value: unknown, index: number): Datum {
  const datum = objectFrom(value, `data[${index}]`);
  const { target_tokens: target, ...inputs } = objectFrom(datum['loss_fn_inputs'], 'loss_fn_inputs');
  const tokens = modelInputFromJson(datum['model_input'], 'model_input');
  if (target === undefined) throw malformed(`data[${index}] has no target_tokens`);
  return {
    tokens,
    targetTokens: tokensFrom(tensorData(target, 'target_tokens', tokens.length), 'target_tokens'),
    lossInputs: Object.fromEntries(
      Object.entries(inputs).map(([name, tensor]) => [
        name,
        floatsFrom(tensorData(tensor, name, tokens.length), name),
      ]),
    ),
  };
}

/** A tensor's values, one a position. A bare list is accepted as the field's own clients allow. */
function tensorData(value: unknown, name: string, length: number): readonly unknown[] {
  if (Array.isArray(value)) return value;
  const tensor = objectFrom(value, name);
  const data = arrayFrom(tensor['data'], `${name}.data`);
  const shape = tensor['shape'] == null ? [data.length] : arrayFrom(tensor['shape'], `${name}.shape`);
  if (shape.length > 1 && !(shape.length === 2 && shape[1] === 1)) {
    throw malformed(
      `tensor "${name}" has shape ${shape.join('×')}; only one value a position is supported, so send one target a position`,
    );
  }
  return tensor['sparse_crow_indices'] == null ? data : denseColumn(tensor, name, length);
}

/** The dense length is known from the tokens, so a forged shape cannot make this allocate more. */
function denseColumn(tensor: JsonObject, name: string, length: number): number[] {
  const data = arrayFrom(tensor['data'], `${name}.data`);
  const rowStarts = arrayFrom(tensor['sparse_crow_indices'], `${name}.sparse_crow_indices`);
  if (rowStarts.length !== length + 1)
    throw malformed(`sparse tensor "${name}" does not fit ${length} tokens`);
  const starts = rowStarts.map((start) => integerFrom(start, `${name}.sparse_crow_indices`));
  const dense = Array.from({ length }, () => 0);
  listedRows(starts, data.length, name).forEach((row, index) => {
    dense[row] = numberOrNaNFrom(data[index], name);
  });
  return dense;
}

export function floatsFrom(values: readonly unknown[], what: string): Float32Array {
  return Float32Array.from(values, (value) => numberOrNaNFrom(value, what));
}

function sorted<Value>(record: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)));
}
