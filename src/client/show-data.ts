import { readEnvironment } from '../config/environment';
import type { SequenceSite } from '../evaluation/evaluators/nll-sequence';
import type { TrainingConfig } from '../config/training-config';
import { findRenderer } from '../renderers/find-renderer';
import { rendererFor } from '../training/model-checks';
import { tokenizersOf } from '../training/render-file';
import { showData } from '../training/show-data';
import type { DataRow, HeldOutRows } from '../training/shown-row';
import { supervisionOf } from '../training/supervision-of';
import { refusedEvaluatorRows } from './check-training';
import { identifyDependencies } from './eval-identity';

/** What a run of a config would train on, row by row, and then what it would refuse beside it. Asks no Temporal server and no training service. */
export async function* showTrainingData(config: TrainingConfig): AsyncGenerator<DataRow | HeldOutRows> {
  const environment = readEnvironment();
  const { cacheFolder, huggingFaceToken: token, huggingFaceUrl: hubUrl, benchmarkDataFolder } = environment;
  const hub = { cacheFolder, ...(token !== null && { token }), ...(hubUrl !== null && { hubUrl }) };
  const { readBenchmarkRows, loadPlugins } = identifyDependencies(environment);
  const tokenizerOf = tokenizersOf(hub);
  yield* showData(config, {
    ...{ readBenchmarkRows, loadPlugins, datasets: hub, tokenizerOf },
    dataFolder: benchmarkDataFolder ?? undefined,
  });
  yield* refusedEvaluatorRows(config, { cacheFolder, openSequences });

  /** The context of the model is known to the training service alone. */
  async function openSequences(): Promise<SequenceSite> {
    const tokenizer = await tokenizerOf(config.model);
    const renderer = findRenderer(rendererFor(config), tokenizer, config.templateArguments);
    return { tokenizer, renderer, contextLength: null, supervision: supervisionOf(config) };
  }
}
