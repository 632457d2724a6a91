import { logprobOf } from './train-slice';
import type { Pointer } from './kernels';
import type { Network } from './network';
import type { Workspace } from './workspace';

/** Distributions over the vocabulary, one a row. */
export interface Softmax {
  /** One token a row from the whole of its distribution, for one uniform number each. */
  draw(uniforms: readonly number[]): Int32Array;
  probabilities(row: number): Float32Array;
  /** Before the temperature. */
  logits(row: number): Float32Array;
  logprob(row: number, token: number): number;
}

export function softmaxOf(
  space: Workspace,
  network: Network,
  { logits, temperatures }: { readonly logits: Pointer; readonly temperatures: readonly number[] },
): Softmax {
  const { kernels } = space;
  const { vocabSize } = network.shape;
  const rows = temperatures.length;
  const inverses = space.storeFloats(temperatures.map((temperature) => 1 / temperature));
  const probabilities = space.allocate(rows * vocabSize);
  const statistics = space.allocate(rows * 2);
  kernels.softmaxRows(rows, vocabSize, logits, inverses, probabilities, statistics);
  const viewOf = (table: Pointer, row: number): Float32Array => {
    const start = table / 4 + row * vocabSize;
    return space.floats.subarray(start, start + vocabSize);
  };
  return {
    draw: (uniforms) => {
      const tokens = space.allocate(rows);
      kernels.drawTokens(rows, vocabSize, probabilities, space.storeDoubles(uniforms), tokens);
      return space.integers.subarray(tokens / 4, tokens / 4 + rows);
    },
    probabilities: (row) => viewOf(probabilities, row),
    logits: (row) => viewOf(logits, row),
    logprob: (row, token) =>
      logprobOf(space, {
        logits: logits + row * vocabSize * 4,
        statistics: statistics + row * 8,
        token,
        inverseTemperature: space.floats[inverses / 4 + row] ?? 1,
      }),
  };
}
