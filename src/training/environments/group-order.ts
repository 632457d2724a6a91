import { epochOrder } from '../../core/batches';

/** Index in the dataset of each group of a run, which are counted from 0 without end. */
export type GroupOrder = (groupNumber: number) => number;

/**
 * Each pass over the dataset has its own shuffle, a function of the seed and the pass, so that any worker at any time
 * draws the same problem for a group. Remembers the order of one pass, since groups come one after another.
 */
export function createGroupOrder(plan: { readonly length: number; readonly seed: number }): GroupOrder {
  const { length, seed } = plan;
  let current: { readonly epoch: number; readonly order: Int32Array } = {
    epoch: -1,
    order: new Int32Array(),
  };
  return (groupNumber) => {
    const epoch = Math.floor(groupNumber / length);
    if (epoch !== current.epoch)
      current = { epoch, order: epochOrder({ exampleCount: length, seed }, epoch) };
    return current.order[groupNumber % length] ?? 0;
  };
}
