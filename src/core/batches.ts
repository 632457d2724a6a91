import { DomainError } from './errors';
import { shuffledIndices } from './random';

export interface BatchPlan {
  readonly exampleCount: number;
  readonly batchSize: number;
  readonly seed: number;
}

/** Batches of one pass over the dataset. The ragged tail is dropped; a dataset smaller than a batch is one batch. */
export function stepsPerEpoch({ exampleCount, batchSize }: Omit<BatchPlan, 'seed'>): number {
  return Math.max(1, Math.floor(exampleCount / batchSize));
}

/**
 * Rows of the batch of a step (counted from 0): a pure function of the plan and the step, so that any worker at any time
 * draws the same batch. Each epoch has its own shuffle.
 */
export function batchIndices(plan: BatchPlan & { readonly step: number }): Int32Array {
  checkPlan(plan);
  const stepCount = stepsPerEpoch(plan);
  const order = epochOrder(plan, Math.floor(plan.step / stepCount));
  const start = (plan.step % stepCount) * plan.batchSize;
  return order.slice(start, start + plan.batchSize);
}

/** Order of all rows in one epoch; batches are consecutive pieces of it. */
export function epochOrder({ exampleCount, seed }: Omit<BatchPlan, 'batchSize'>, epoch: number): Int32Array {
  return shuffledIndices(exampleCount, mixSeeds(seed, epoch));
}

/** Spreads two small numbers over 32 bits, so that neighbouring epochs and seeds share no shuffle (MurmurHash3's finalizer). */
function mixSeeds(seed: number, epoch: number): number {
  let mixed = (Math.imul(seed | 0, 0x9e3779b1) + Math.imul((epoch | 0) + 1, 0x85ebca77)) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

function checkPlan({ exampleCount, batchSize, step }: BatchPlan & { readonly step: number }): void {
  if (isCount(exampleCount, 1) && isCount(batchSize, 1) && isCount(step, 0)) return;
  throw new DomainError(
    'bad-config',
    `No batch ${step} of ${batchSize} examples from ${exampleCount}. Use a dataset and a batch size of at least 1.`,
  );
}

function isCount(value: number, least: number): boolean {
  return Number.isInteger(value) && value >= least;
}
