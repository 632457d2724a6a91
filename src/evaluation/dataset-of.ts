import type { DatasetConfig } from '../config/dataset-config';
import type { ReplyUse } from '../datasets/judged-rows';
import { needsCriterion } from './judges/methods/written-method';

/**
 * A dataset, and what its rows need: a question where answers to it are judged, the items that a judge scores each by, or the reply
 * it compares with.
 */
export type DatasetToRead = DatasetConfig & {
  readonly needsQuestion?: true;
  readonly rubrics?: true;
  readonly needsReply?: ReplyUse;
};

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
  if (method === undefined && baseline === undefined) return dataset;
  const asked = { ...dataset, needsQuestion: true } as const;
  if (method === 'rubric' && rubric === undefined) return { ...asked, rubrics: true };
  if (baseline === 'target') return { ...asked, needsReply: 'opponent' };
  return needsCriterion({ method, template }) ? { ...asked, needsReply: 'criterion' } : asked;
}
