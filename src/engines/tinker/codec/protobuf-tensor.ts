import type { SparseCsr, Tensor } from '../generated/tinker_pb';
import { DType } from '../generated/tinker_pb';
import type { DenseRoom } from './sparse-rows';
import { listedCells } from './sparse-rows';
import { bfloat16sFrom, firstWide, lowWords, float32sFrom, int32sFrom, int64sFrom, malformed } from './bytes';

type Numbers = Float32Array | Int32Array | BigInt64Array;

const ITEM_SIZES: Readonly<Record<DType, number>> = {
  [DType.DTYPE_UNSPECIFIED]: 4,
  [DType.DTYPE_FLOAT32]: 4,
  [DType.DTYPE_INT64]: 8,
  [DType.DTYPE_INT32]: 4,
  [DType.DTYPE_BFLOAT16]: 2,
};

export interface TensorPlace {
  readonly name: string;
  /** Positions of the datum. */
  readonly length: number;
  readonly room: DenseRoom;
}

/** Values of a datum's tensor, row by row. */
export interface PositionValues {
  readonly values: Numbers;
  /** Values a position. */
  readonly width: number;
}

/** The values of a tensor of shape (N) or (N, K). Sparse ones also come as a single row of N. */
export function readTensor(tensor: Tensor, { name, length, room }: TensorPlace): PositionValues {
  const [rowCount, columnCount] = tensor.shape.map(Number);
  const { storage, dtype } = tensor;
  if (storage.case === 'sparseCsr' && rowCount === 1 && columnCount === length)
    return { values: readSparse(storage.value, { name, dtype, rowCount, columnCount, room }), width: 1 };
  const width = widthOf({ shape: tensor.shape.map(Number), name, length });
  if (storage.case !== 'sparseCsr')
    return { values: readValues(storage.value ?? new Uint8Array(), dtype, name), width };
  const layout = { name, dtype, rowCount: length, columnCount: width, room };
  return { values: readSparse(storage.value, layout), width };
}

/** K of a shape (N, K) whose N is as long as the datum; 1 of any with one dimension. */
export function widthOf({
  shape,
  name,
  length,
}: Pick<TensorPlace, 'name' | 'length'> & { readonly shape: readonly number[] }): number {
  if (shape.length < 2) return 1;
  const [rowCount, columnCount = 0] = shape;
  if (shape.length === 2 && rowCount === length && columnCount >= 1 && Number.isSafeInteger(columnCount))
    return columnCount;
  throw malformed(
    `tensor "${name}" has shape ${shape.join('×')} for ${length} tokens; (N) or (N, K) is expected`,
  );
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

interface SparseLayout extends Pick<TensorPlace, 'name' | 'room'> {
  readonly dtype: DType;
  readonly rowCount: number;
  readonly columnCount: number;
}

function readSparse(
  { values, crowIndices, colIndices }: SparseCsr,
  { name, dtype, rowCount, columnCount, room }: SparseLayout,
): Numbers {
  const columns = Array.from(int64sFrom(colIndices, `${name}.col_indices`), Number);
  if (readValues(values, dtype, name).length !== columns.length)
    throw malformed(`sparse tensor "${name}" lists unequal values and columns`);
  // The single row of a sender that leaves its pointers out.
  const rowStarts =
    rowCount === 1 && crowIndices.length === 0
      ? [0, columns.length]
      : Array.from(int64sFrom(crowIndices, `${name}.crow_indices`), Number);
  const cells = listedCells({ name, rowCount, columnCount, rowStarts, columns });
  room.take(rowCount * columnCount, name);
  // By bytes: a token id beyond 24 bits would not survive a float32.
  const itemSize = ITEM_SIZES[dtype];
  const dense = new Uint8Array(rowCount * columnCount * itemSize);
  cells.forEach((cell, index) => {
    dense.set(values.subarray(index * itemSize, (index + 1) * itemSize), cell * itemSize);
  });
  return readValues(dense, dtype, name);
}
