import { stepsPerEpoch } from '../core/batches';
import { supervisedMetrics } from '../core/metrics/supervised-metrics';
import { createBatches } from './batches';
import type { PreparedData } from './prepared-data';
import type { BatchSource, StepBatch } from './step-batch';

/** Batches of a dataset that is frozen in the run's folder: one update a step, by cross-entropy. */
export function createSupervisedBatches(
  data: PreparedData,
  { batchSize, seed }: { readonly batchSize: number; readonly seed: number },
): BatchSource {
  const plan = { exampleCount: data.exampleCount, batchSize, seed };
  const rowsOf = createBatches(plan);
  const epochLength = stepsPerEpoch(plan);

  return {
    async batch(step): Promise<StepBatch> {
      const examples = rowsOf(step).map((index) => data.example(index));
      const datums = examples.map(({ datum }) => datum);
      return {
        updates: [{ parts: [datums], lossFn: 'cross_entropy' }],
        tokenCount: datums.reduce((sum, { tokens }) => sum + tokens.length, 0),
        epoch: Math.floor((step - 1) / epochLength),
        metrics: (logprobs) =>
          supervisedMetrics(
            examples.map(({ datum, counted, countedBytes }, index) => ({
              logprobs: logprobs[index] ?? [],
              weights: datum.lossInputs['weights'] ?? [],
              counted,
              countedBytes,
            })),
          ),
      };
    },
  };
}
