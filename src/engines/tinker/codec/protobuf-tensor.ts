import type { Tensor } from '../generated/tinker_pb';
import { DType } from '../generated/tinker_pb';
import { bfloat16sFrom, firstWide, lowWords, float32sFrom, int32sFrom, int64sFrom, malformed } from './bytes';

type Numbers = Float32Array | Int32Array | BigInt64Array;

/** The values of a tensor of one dimension (or N×1), one for each of `length` positions. */
export function readTensor(tensor: Tensor, name: string, length: number): Numbers {
  const { shape } = tensor;
  const isColumn = shape.length === 2 && shape[1] === 1n;
  const isRow = shape.length === 2 && shape[0] === 1n && tensor.storage.case === 'sparseCsr';
  if (shape.length > 1 && !isColumn && !isRow) {
    throw malformed(
      `tensor "${name}" has shape ${shape.join('×')}; only one value a position is supported, so send one target a position`,
    );
  }
  if (tensor.storage.case === 'sparseCsr') return readSparse(tensor, { name, length, isColumn });
  return readValues(tensor.storage.value ?? new Uint8Array(), tensor.dtype, name);
}

/** Values by dtype; an unspecified dtype is float32, as the field does. */
export function readValues(bytes: Uint8Array, dtype: DType, name: string): Numbers {
  switch (dtype) {
    case DType.DTYPE_UNSPECIFIED:
    case DType.DTYPE_FLOAT32:
      return float32sFrom(bytes, name);
    case DType.DTYPE_INT64:
      return int64sFrom(bytes, name);
    case DType.DTYPE_INT32:
      return int32sFrom(bytes, name);
    case DType.DTYPE_BFLOAT16:
      return bfloat16sFrom(bytes, name);
    default:
      throw malformed(`${name} has an unknown dtype ${String(dtype)}`);
  }
}

export function toFloat32s(values: Numbers): Float32Array {
  return values instanceof Float32Array ? values : Float32Array.from(values, Number);
}

/** Token ids: whole numbers of at most 31 bits, whatever dtype they came in. */
export function toTokens(values: Numbers, name: string): Int32Array {
  if (values instanceof Int32Array) return values;
  const tokens = values instanceof BigInt64Array ? lowWords(values) : Int32Array.from(values);
  const isExact = (index: number): boolean => Number(values[index]) === tokens[index];
  const misfit =
    values instanceof BigInt64Array ? firstWide(values) : tokens.findIndex((_, index) => !isExact(index));
  if (misfit >= 0) throw malformed(`${name}[${misfit}] = ${String(values[misfit])} is not a token id`);
  return tokens;
}

interface SparseLayout {
  readonly name: string;
  readonly length: number;
  readonly isColumn: boolean;
}

/** The dense length is known from the tokens, so a forged shape cannot make this allocate more. */
function readSparse(tensor: Tensor, { name, length, isColumn }: SparseLayout): Numbers {
  if (tensor.storage.case !== 'sparseCsr') throw malformed(`tensor "${name}" is not sparse`);
  const { values, crowIndices, colIndices } = tensor.storage.value;
  if (tensor.shape[isColumn ? 0 : 1] !== BigInt(length)) {
    throw malformed(`sparse tensor "${name}" has shape ${tensor.shape.join('×')} for ${length} tokens`);
  }
  const listed = readValues(values, tensor.dtype, name);
  const rowStarts = int64sFrom(crowIndices, `${name}.crow_indices`);
  const columns = int64sFrom(colIndices, `${name}.col_indices`);
  if (columns.length !== listed.length)
    throw malformed(`sparse tensor "${name}" lists unequal values and columns`);
  const positions = isColumn ? rowsOf(rowStarts, listed.length) : [...columns].map(Number);
  const dense = new Float32Array(length);
  positions.forEach((position, index) => {
    if (position < 0 || position >= length)
      throw malformed(`sparse tensor "${name}" names position ${position}`);
    dense[position] = Number(listed[index]);
  });
  return dense;
}

function rowsOf(rowStarts: BigInt64Array, count: number): number[] {
  const rows: number[] = [];
  for (let row = 0; row + 1 < rowStarts.length && rows.length < count; row++) {
    if (Number(rowStarts[row + 1]) > rows.length) rows.push(row);
  }
  if (rows.length !== count) throw malformed('sparse rows do not add up to the listed values');
  return rows;
}
