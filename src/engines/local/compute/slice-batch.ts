import { LOSSES } from './losses';
import type { Datum } from '../../../core/datum';
import type { BatchSlice, LossSettings } from './train-slice';

/** Large enough for the matrix kernels, small enough for a cache and for even work on few threads. */
const TOKENS_PER_SLICE = 192;

/**
 * Cuts a batch into slices of consecutive datums. The cut depends on the lengths of the datums alone: gradients
 * are summed slice by slice in this order, so the number of threads cannot change a bit of the result.
 */
export function sliceBatch(data: readonly Datum[], loss: LossSettings): BatchSlice[] {
  const slices: BatchSlice[] = [];
  let start = 0;
  let tokens = 0;
  for (const [index, datum] of data.entries()) {
    if (index > start && tokens + datum.tokens.length > TOKENS_PER_SLICE) {
      slices.push(joinDatums(data.slice(start, index), loss));
      start = index;
      tokens = 0;
    }
    tokens += datum.tokens.length;
  }
  slices.push(joinDatums(data.slice(start), loss));
  return slices;
}

/** Fresh arrays: a view posted to a thread would take its whole underlying buffer along. */
function joinDatums(data: readonly Datum[], loss: LossSettings): BatchSlice {
  const { inputs, defaultInput = 0 } = LOSSES[loss.name];
  const count = data.reduce((total, datum) => total + datum.tokens.length, 0);
  const slice = {
    lengths: data.map((datum) => datum.tokens.length),
    tokens: new Int32Array(count),
    targets: new Int32Array(count),
    lossInputs: inputs.map(() => new Float32Array(count).fill(defaultInput)),
  };
  let offset = 0;
  for (const datum of data) {
    slice.tokens.set(datum.tokens, offset);
    slice.targets.set(datum.targetTokens, offset);
    for (const [index, name] of inputs.entries()) {
      const values = datum.lossInputs[name];
      if (values !== undefined) slice.lossInputs[index]?.set(values, offset);
    }
    offset += datum.tokens.length;
  }
  return slice;
}
