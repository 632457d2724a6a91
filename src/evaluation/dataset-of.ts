import type { DatasetConfig } from '../config/dataset-config';
import type { ReplyUse } from '../datasets/rows';
import { needsCriterion } from './judges/methods/written-method';

/** A dataset, and what its rows need beside their questions: the items that a judge scores each by, or the reply it compares with. */
export type DatasetToRead = DatasetConfig & { readonly rubrics?: true; readonly needsReply?: ReplyUse };

interface AsksDataset {
  readonly dataset: DatasetConfig;
  readonly method?: string | undefined;
  readonly template?: string | undefined;
  readonly rubric?: readonly string[] | undefined;
  readonly baseline?: unknown;
}

/**
 * The dataset of an evaluator or environment. Where judges score rubrics and are given none for all rows, each row has its own; where
 * answers are compared with the dataset's, each row has a reply.
 */
export function datasetOf({ dataset, method, template, rubric, baseline }: AsksDataset): DatasetToRead {
  if (method === 'rubric' && rubric === undefined) return { ...dataset, rubrics: true };
  if (baseline === 'target') return { ...dataset, needsReply: 'opponent' };
  return needsCriterion({ method, template }) ? { ...dataset, needsReply: 'criterion' } : dataset;
}
