import type { DatasetConfig } from '../config/dataset-config';
import type { EvaluatorConfig } from '../config/evaluation-config';
import type { SupervisedConfig } from '../config/supervised-config';
import { checkEvaluators } from '../training/check-evaluators';
import { createDatasetReader } from '../training/dataset-source';
import { resolveEvaluations } from '../training/resolve-evaluations';

/**
 * Refuses what can be seen to fail before anything is started: evaluators nobody has, contradictions between them, and
 * local data that is missing, malformed or empty. What only the training service knows is refused while the run is
 * prepared, which leaves nothing behind either.
 */
export async function checkTraining(config: SupervisedConfig, cacheFolder: string): Promise<void> {
  const { evaluators } = resolveEvaluations(config, null);
  await checkEvaluators(undefined)(Object.values(evaluators), config.plugins);

  const readDataset = createDatasetReader({ cacheFolder });
  for (const dataset of localDatasets(config, Object.values(evaluators))) await readDataset(dataset);
}

function localDatasets(config: SupervisedConfig, evaluators: readonly EvaluatorConfig[]): DatasetConfig[] {
  const { testPath, onBadRow, split, testSize } = config.dataset;
  return [
    config.dataset,
    ...(testPath === undefined ? [] : [{ path: testPath, onBadRow, split, testSize }]),
    ...evaluators.flatMap((evaluator) => ('dataset' in evaluator ? [evaluator.dataset] : [])),
  ].filter((dataset) => dataset.path !== undefined);
}
