import { epochOrder, stepsPerEpoch } from '../core/batches';

/** Rows of the batch of a step, counted from 1. */
export type Batches = (step: number) => readonly number[];

/** Draws batches in their seeded order; remembers the order of the epoch it is in, since steps come one after another. */
export function createBatches(plan: {
  readonly exampleCount: number;
  readonly batchSize: number;
  readonly seed: number;
}): Batches {
  const stepCount = stepsPerEpoch(plan);
  let current: { readonly epoch: number; readonly order: Int32Array } = {
    epoch: -1,
    order: new Int32Array(),
  };

  return (step) => {
    const epoch = Math.floor((step - 1) / stepCount);
    if (epoch !== current.epoch) current = { epoch, order: epochOrder(plan, epoch) };
    const start = ((step - 1) % stepCount) * plan.batchSize;
    return [...current.order.subarray(start, start + plan.batchSize)];
  };
}
