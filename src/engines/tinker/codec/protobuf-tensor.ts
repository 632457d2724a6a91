import type { Tensor } from '../generated/tinker_pb';
import { DType } from '../generated/tinker_pb';
import { listedRows } from './sparse-rows';
import { bfloat16sFrom, firstWide, lowWords, float32sFrom, int32sFrom, int64sFrom, malformed } from './bytes';

type Numbers = Float32Array | Int32Array | BigInt64Array;

const ITEM_SIZES: Readonly<Record<DType, number>> = {
  [DType.DTYPE_UNSPECIFIED]: 4,
  [DType.DTYPE_FLOAT32]: 4,
  [DType.DTYPE_INT64]: 8,
  [DType.DTYPE_INT32]: 4,
  [DType.DTYPE_BFLOAT16]: 2,
};

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
  const columns = int64sFrom(colIndices, `${name}.col_indices`);
  if (columns.length !== listed.length)
    throw malformed(`sparse tensor "${name}" lists unequal values and columns`);
  // Two values for one position are one too many, whichever of them was meant.
  if (listed.length > length)
    throw malformed(`sparse tensor "${name}" lists ${listed.length} values for ${length} tokens`);
  if (isColumn && crowIndices.length !== (length + 1) * 8)
    throw malformed(`sparse tensor "${name}" does not fit ${length} tokens`);
  const positions = isColumn
    ? listedRows(Array.from(int64sFrom(crowIndices, `${name}.crow_indices`), Number), listed.length, name)
    : Array.from(columns, Number);
  checkPositions(positions, { name, length });
  // By bytes: a token id beyond 24 bits would not survive a float32.
  const itemSize = ITEM_SIZES[tensor.dtype];
  const dense = new Uint8Array(length * itemSize);
  positions.forEach((position, index) => {
    dense.set(values.subarray(index * itemSize, (index + 1) * itemSize), position * itemSize);
  });
  return readValues(dense, tensor.dtype, name);
}

function checkPositions(
  positions: readonly number[],
  { name, length }: Omit<SparseLayout, 'isColumn'>,
): void {
  let last = -1;
  for (const position of positions) {
    if (position < 0 || position >= length)
      throw malformed(`sparse tensor "${name}" names position ${position}`);
    if (position <= last) throw malformed(`sparse tensor "${name}" names position ${position} out of order`);
    last = position;
  }
}
