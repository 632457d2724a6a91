import type { SupervisedConfig } from '../config/supervised-config';
import { splitTrainTest } from '../datasets/split';

/** Refuses to hold out so many rows that none is left to train on. */
export function checkSplit(rows: readonly unknown[], { dataset, seed }: SupervisedConfig): void {
  if (dataset.testPath === undefined) splitTrainTest(rows, { testSize: dataset.testSize, seed });
}
