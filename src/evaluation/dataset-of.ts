import type { DatasetConfig } from '../config/dataset-config';

/** A dataset, and what is read of its rows beside their conversations: the items that a judge scores each by. */
export type DatasetToRead = DatasetConfig & { readonly rubrics?: true };

interface AsksDataset {
  readonly dataset: DatasetConfig;
  readonly method?: string | undefined;
  readonly rubric?: readonly string[] | undefined;
}

/** The dataset of an evaluator or environment. Where judges score rubrics and are given none for all rows, each row has its own. */
export function datasetOf({ dataset, method, rubric }: AsksDataset): DatasetToRead {
  return method === 'rubric' && rubric === undefined ? { ...dataset, rubrics: true } : dataset;
}
