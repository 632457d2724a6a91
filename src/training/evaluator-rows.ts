import type { EvaluatorConfig } from '../config/evaluation-config';
import { datasetOf } from '../evaluation/dataset-of';
import { leftOutText } from './data-remarks';
import type { ReadDataset } from './dataset-source';

/** What a person should know of evaluators whose datasets leave bad rows out: their scores are of the others. */
export async function evaluatorRowRemarks(
  readDataset: ReadDataset,
  evaluators: Readonly<Record<string, EvaluatorConfig>>,
): Promise<string[]> {
  const remarks: string[] = [];
  for (const [name, evaluator] of Object.entries(evaluators)) {
    if (!('dataset' in evaluator) || evaluator.dataset.onBadRow !== 'skip') continue;
    const { skipped } = await readDataset(datasetOf(evaluator));
    const text = leftOutText(skipped);
    if (text !== null) remarks.push(`Evaluator "${name}": ${text}`);
  }
  return remarks;
}
