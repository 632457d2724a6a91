import { LOSSES } from './losses';
import type { Datum } from '../../../core/datum';
import type { BatchSlice, LossSettings } from './train-slice';

/** Large enough for the matrix kernels, small enough for a cache. */
const MOST_TOKENS_PER_SLICE = 256;
/** Below this many tokens, what a slice costs by itself outweighs a second thread. */
const FEWEST_TOKENS_TO_CUT = 64;

/**
 * Cuts a batch into slices of consecutive datums, much the same in size, for `joinDatums`. The cut depends on the lengths of the datums
 * alone: gradients are summed slice by slice in this order, so the number of threads cannot change a bit of the result.
 */
export function cutBatch(data: readonly Datum[]): Datum[][] {
  const total = data.reduce((sum, datum) => sum + datum.tokens.length, 0);
  const count = sliceCount(total);
  const groups: Datum[][] = Array.from({ length: count }, () => []);
  let start = 0;
  for (const datum of data) {
    const { length } = datum.tokens;
    groups[Math.min(count - 1, Math.floor(((start + length / 2) / total) * count))]?.push(datum);
    start += length;
  }
  return groups.filter((group) => group.length > 0);
}

/** Even, and a multiple of four where there is much to do, so that few threads finish together. */
function sliceCount(tokens: number): number {
  if (tokens <= FEWEST_TOKENS_TO_CUT) return 1;
  if (tokens <= 2 * MOST_TOKENS_PER_SLICE) return 2;
  return 4 * Math.ceil(tokens / (4 * MOST_TOKENS_PER_SLICE));
}

/** Fresh arrays: a view posted to a thread would take its whole underlying buffer along. */
export function joinDatums(data: readonly Datum[], loss: LossSettings): BatchSlice {
  const { inputs, defaultInput = 0 } = LOSSES[loss.name];
  const count = data.reduce((total, datum) => total + datum.tokens.length, 0);
  const targetCount = data.reduce((total, datum) => total + datum.targetTokens.length, 0);
  const slice = {
    lengths: data.map((datum) => datum.tokens.length),
    widths: data.map(({ targetsPerPosition = 1 }) => targetsPerPosition),
    tokens: new Int32Array(count),
    targets: new Int32Array(targetCount),
    lossInputs: inputs.map(() => new Float32Array(targetCount).fill(defaultInput)),
  };
  let offset = 0;
  let targetOffset = 0;
  for (const datum of data) {
    slice.tokens.set(datum.tokens, offset);
    slice.targets.set(datum.targetTokens, targetOffset);
    for (const [index, name] of inputs.entries()) {
      const values = datum.lossInputs[name];
      if (values !== undefined) slice.lossInputs[index]?.set(values, targetOffset);
    }
    offset += datum.tokens.length;
    targetOffset += datum.targetTokens.length;
  }
  return slice;
}
