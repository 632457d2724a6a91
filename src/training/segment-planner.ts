import type { SegmentInput, TrainingPosition } from '../core/training-plan';
import { planChunks } from '../engines/tinker/chunks';
import type { SegmentDependencies } from './segment-contract';
import type { StepPlanner } from './step-plan';

/** Optimizer updates done where training stands. */
export function updatesOf({ updates, collectedThrough }: TrainingPosition): number {
  return updates ?? Math.max(0, collectedThrough);
}

/** What the steps of a segment are planned by. */
export function plannerOf({ optimization, batches }: SegmentDependencies, input: SegmentInput): StepPlanner {
  const { plan, model } = input;
  return {
    ...{ plan, optimization, batches, changes: input },
    cutIntoChunks: (batch) => planChunks(batch, model.chunkLimits),
  };
}
