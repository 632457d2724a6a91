import { create } from '@bufbuild/protobuf';
import type { NumberTable, SampleResult, TokenCells } from '../../../core/sampling';
import type {
  PromptAltTokens as AlternativesMessage,
  SampleResponse,
  Tensor,
  TopkLogprobs as TopMessage,
} from '../generated/tinker_pb';
import { DType, PromptAltTokensSchema, TensorSchema, TopkLogprobsSchema } from '../generated/tinker_pb';
import { checkedTable } from './asample-table';
import { bytesOf, float32sFrom, int32sFrom, int64BytesOf, int64sFrom, malformed } from './bytes';
import { readValues, toFloat32s, toTokens } from './protobuf-tensor';

export function promptScoresMessage(
  result: SampleResult,
): Partial<Pick<SampleResponse, 'topkPromptLogprobs' | 'targetPromptLogprobs' | 'promptAltTokens'>> {
  const { topPromptLogprobs, promptTargetLogprobs, promptAlternatives } = result;
  return {
    ...(topPromptLogprobs && { topkPromptLogprobs: topMessage(topPromptLogprobs) }),
    ...(promptTargetLogprobs && { targetPromptLogprobs: tensorMessage(promptTargetLogprobs) }),
    ...(promptAlternatives && { promptAltTokens: alternativesMessage(promptAlternatives) }),
  };
}

export function readPromptScores(
  message: SampleResponse,
): Omit<SampleResult, 'sequences' | 'promptLogprobs'> {
  const { topkPromptLogprobs, targetPromptLogprobs, promptAltTokens } = message;
  return {
    ...(topkPromptLogprobs && { topPromptLogprobs: readTop(topkPromptLogprobs, 'topk_prompt_logprobs') }),
    ...(targetPromptLogprobs && {
      promptTargetLogprobs: readTable(targetPromptLogprobs, 'target_prompt_logprobs', toFloat32s),
    }),
    ...(promptAltTokens && { promptAlternatives: readAlternatives(promptAltTokens) }),
  };
}

export function topMessage({ width, tokens, logprobs }: TokenCells): TopMessage {
  return create(TopkLogprobsSchema, {
    tokenIds: bytesOf(tokens),
    logprobs: bytesOf(logprobs),
    k: width,
    length: width === 0 ? 0 : tokens.length / width,
  });
}

export function readTop({ tokenIds, logprobs, k, length }: TopMessage, what: string): TokenCells {
  const cells = {
    width: k,
    tokens: int32sFrom(tokenIds, `${what}.token_ids`),
    logprobs: float32sFrom(logprobs, `${what}.logprobs`),
  };
  if (cells.tokens.length !== k * length || cells.logprobs.length !== k * length)
    throw malformed(`${what} has ${cells.tokens.length} tokens for ${length}×${k}`);
  return cells;
}

function alternativesMessage({ width, tokens, logprobs }: TokenCells): AlternativesMessage {
  const shape = { rowCount: width === 0 ? 0 : tokens.length / width, columnCount: width, sparse: null };
  return create(PromptAltTokensSchema, {
    tokens: tensorMessage({ ...shape, values: tokens }),
    logprobs: tensorMessage({ ...shape, values: logprobs }),
  });
}

function readAlternatives({ tokens, logprobs }: AlternativesMessage): TokenCells {
  if (!tokens || !logprobs) throw malformed('prompt_alt_tokens lacks its tokens or their log-probabilities');
  const ids = readTable(tokens, 'prompt_alt_tokens.tokens', (values) =>
    toTokens(values, 'prompt_alt_tokens.tokens'),
  );
  const scores = readTable(logprobs, 'prompt_alt_tokens.logprobs', toFloat32s);
  if (ids.values.length !== scores.values.length)
    throw malformed('prompt_alt_tokens has unequal numbers of tokens and log-probabilities');
  return { width: ids.columnCount, tokens: ids.values, logprobs: scores.values };
}

function tensorMessage({
  rowCount,
  columnCount,
  values,
  sparse,
}: NumberTable<Int32Array | Float32Array>): Tensor {
  const isInteger = values instanceof Int32Array;
  const bytes = isInteger ? int64BytesOf(values) : bytesOf(values);
  return create(TensorSchema, {
    dtype: isInteger ? DType.DTYPE_INT64 : DType.DTYPE_FLOAT32,
    shape: [BigInt(rowCount), BigInt(columnCount)],
    storage: sparse
      ? {
          case: 'sparseCsr',
          value: {
            values: bytes,
            crowIndices: int64BytesOf(sparse.rowStarts),
            colIndices: int64BytesOf(sparse.columns),
          },
        }
      : { case: 'dense', value: bytes },
  });
}

function readTable<Values extends Int32Array | Float32Array>(
  { dtype, shape, storage }: Tensor,
  what: string,
  convert: (values: Float32Array | Int32Array | BigInt64Array) => Values,
): NumberTable<Values> {
  const isSparse = storage.case === 'sparseCsr';
  const bytes = isSparse ? storage.value.values : (storage.value ?? new Uint8Array());
  return checkedTable(what, shape.map(Number), {
    values: convert(readValues(bytes, dtype, what)),
    sparse: isSparse
      ? {
          rowStarts: toTokens(int64sFrom(storage.value.crowIndices, what), `${what}.crow_indices`),
          columns: toTokens(int64sFrom(storage.value.colIndices, what), `${what}.col_indices`),
        }
      : null,
  });
}
